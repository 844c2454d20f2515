"""Passes from `loop` to `loop`: fusion, padding, schedules, outlining."""
