"""Products of quantized tensors as products of integers: what they are made of, and what is said of it."""
