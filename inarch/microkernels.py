"""The table of microkernels: ours, those of other distributions, and `--load`ed files."""

from __future__ import annotations

from inarch.microkernel import Microkernel
from inarch.plugins import Extensions

MICROKERNELS: Extensions[Microkernel] = Extensions(
    "inarch.backends.c.microkernels", "MICROKERNEL", entry_group="inarch.microkernels"
)
"""Kernels by name; other distributions add theirs as entry points of the group `inarch.microkernels`."""
