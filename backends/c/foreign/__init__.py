"""C of others: microkernels with their helpers and libraries, and what compilers say of them."""
