"""What code is compiled for, and by whom: targets, C compilers, libraries in files."""
