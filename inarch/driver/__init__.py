"""The whole of a compilation: from a model to an artifact."""
