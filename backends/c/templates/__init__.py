"""Templates of microkernels: reductions of any dtype and body, for nests that no kernel of the table does."""
