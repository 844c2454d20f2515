"""Ops on where elements are: what is written at indices that are known at run time."""
