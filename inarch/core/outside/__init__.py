"""What comes from outside: files that are no files, and names that are more than names."""
