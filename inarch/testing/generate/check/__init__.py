"""Random programs through the compiler, in workers of their own."""
