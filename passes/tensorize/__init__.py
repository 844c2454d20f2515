"""Passes from `loop` to `kernel`."""
