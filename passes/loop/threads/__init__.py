"""Which loops threads share, and why."""
