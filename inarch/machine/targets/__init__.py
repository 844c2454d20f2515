"""The families of CPUs that code is compiled for: one file each, found by its name."""
