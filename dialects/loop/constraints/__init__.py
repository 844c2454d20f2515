"""Constraints of `loop.nest` that are long: on scans, on what threads share, on indices that are read."""
