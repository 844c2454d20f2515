"""What passes find out, and what they say of it."""
