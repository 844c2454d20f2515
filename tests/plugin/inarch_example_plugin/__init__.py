"""One thing of every kind that can be added to Inarch."""
