"""Zeros around images: written, left out, or read where they are."""
