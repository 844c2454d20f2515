"""A microkernel alone in a program of C, run beside this process."""
