"""How tensors lie in memory: who takes blocks, what it saves, which borders."""
