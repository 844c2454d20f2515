"""What `inarch inspect`, `diff` and `extract` make of an artifact: its parts as text, compared, as files."""
