"""Ops whose body is a region of graph ops that runs as often as they say."""
