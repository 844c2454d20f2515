"""What is known of an op's values without running it."""
