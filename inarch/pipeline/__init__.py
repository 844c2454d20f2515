"""Pipelines: which passes run, in which order, and who watches them."""
