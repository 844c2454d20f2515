"""Operators whose bodies stay regions: how these are built."""
