"""The functions that a library shows: checked entries, `bind`, errors, the question for CPU features."""
