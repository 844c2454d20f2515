"""What `inarch.fuzz` knows how to feed: one file a parser, each with a `PARSER`."""
