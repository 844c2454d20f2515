"""Passes that give parts of a graph to backends."""
