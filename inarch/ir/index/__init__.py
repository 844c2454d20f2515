"""Places as sums: of iterators (`affine`), and of loops with whole coefficients (`linear`)."""
