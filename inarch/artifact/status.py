"""The numbers of inarch.h: what functions of C return, and what they do with arguments."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Status(IntEnum):
    """0 is success. `INARCH_<name>` in `inarch.h`; a code that an import returns is passed on as it is."""

    OK = 0
    ARGUMENT = 1
    """An argument does not fit."""
    UNBOUND = 2
    """Weights, imports or buffers are not bound."""
    NO_MEMORY = 3
    UNWRITTEN = 4
    """An import left an output unwritten."""
    CPU_LACKS = 5
    """The machine lacks what the code was compiled for."""
    THREADS = 6
    """No number of threads."""
    FILE = 7
    """A file that is damaged, or no artifact of this format."""
    UNREADABLE = 8
    """A file that cannot be read or opened."""
    UNSUPPORTED = 9
    """What is asked for is not there: in C, or in this version."""
    NAME = 10
    """No function, input or output of that name."""
    IN_USE = 11
    """Too much that calls still use."""


class Effect(IntFlag):
    """What a function does with an argument: `INARCH_<name>` in `inarch.h`."""

    READS = 1
    WRITES = 2
