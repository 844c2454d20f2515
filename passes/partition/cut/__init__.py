"""Regions of one backend, and the functions that they become."""
