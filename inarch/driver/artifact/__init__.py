"""What an artifact has beside its code: where it is from, code for other CPUs, itself as C for others."""
