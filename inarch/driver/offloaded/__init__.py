"""What a compilation asks of backends by function: their `emit`, host versions, weights of linked C."""
