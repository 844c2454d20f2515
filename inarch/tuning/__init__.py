"""Tuning: the ways to do each loop nest of a model are measured, and the fastest kept as records."""
