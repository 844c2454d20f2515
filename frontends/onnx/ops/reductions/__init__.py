"""Operators that reduce, accumulate or normalize along axes."""
