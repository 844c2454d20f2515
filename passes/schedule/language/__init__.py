"""What schedules are written in: words, places in programs, steps."""
