"""Measuring this computer: caches, ports and latencies in C, and what sharing a loop takes."""
