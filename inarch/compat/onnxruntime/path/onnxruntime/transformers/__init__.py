"""Of the tools for transformers, what programs use when they run a model."""
