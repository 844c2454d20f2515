"""What a backend is, for those who bring one: its patterns, regions, options, tolerances and instances."""
