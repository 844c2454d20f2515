"""Passes that decide where buffers live."""
