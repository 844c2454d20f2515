"""Passes from `graph` to `graph`: folding, simplification, decomposition."""
