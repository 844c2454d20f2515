"""Commands about files that `inarch compile` wrote."""
