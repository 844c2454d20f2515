"""The kinds of executors, one file each."""
