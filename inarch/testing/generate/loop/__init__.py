"""Random programs on buffers."""
