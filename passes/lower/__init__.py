"""Passes from `graph` to `loop`."""
