"""Our own microkernels: one file a family, each with a `MICROKERNEL` (`inarch.microkernel`)."""
