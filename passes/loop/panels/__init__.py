"""Packing by panels: which packs can be, and writing the loops."""
