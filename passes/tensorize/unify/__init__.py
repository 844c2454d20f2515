"""Whether a nest is what a microkernel means, and by which strides."""
