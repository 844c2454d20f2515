"""What parsers are given to mutate, a file a parser: `seeds`, and `words` that mean something to it."""
