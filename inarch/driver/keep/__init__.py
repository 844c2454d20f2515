"""What is kept from one compilation to the next, and what it depends on."""
