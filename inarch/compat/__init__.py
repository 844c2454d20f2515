"""The interfaces of other runtimes over Inarch: a program written for one of them runs unchanged."""
