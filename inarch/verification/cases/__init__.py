"""What a microkernel is tried on: sizes, strides, values, and what it must give."""
