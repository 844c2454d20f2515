"""Passes that need a backend, a compiler or a runtime: what they do to a program depends on the machine."""
