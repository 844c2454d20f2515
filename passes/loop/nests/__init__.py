"""What passes over nests share: reading them, moving them, making one of two."""
