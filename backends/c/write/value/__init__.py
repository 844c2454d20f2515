"""What one point computes: scalars, vectors, and the functions that they call."""
