"""What a backend may take: patterns against ops, with reasons."""
