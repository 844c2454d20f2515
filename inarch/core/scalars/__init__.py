"""What is computed with single numbers: one row a function."""
