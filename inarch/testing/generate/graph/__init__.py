"""Random programs on tensors."""
