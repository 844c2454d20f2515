"""Operators that make, move and choose elements, by shapes and indices."""
