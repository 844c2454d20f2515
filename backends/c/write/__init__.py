"""The text of C."""
