"""What `inarch.testing.fuzz` knows how to feed: one file a parser, each with a `PARSER`."""
