"""`libinarch`: artifacts opened and run from C, with nothing but libc; where its sources are.

A program compiles them with its own (`inarch config --sources`), or links what `inarch config --install`
makes of them (`install.py`).
"""

from __future__ import annotations

from pathlib import Path

INCLUDE = Path(__file__).parents[1] / "include"
"""The folder of inarch.h, inarch_runtime.h and inarch.hpp."""

FLAGS = ("-std=c11", "-O2")
LIBS = ("-ldl", "-lpthread")
"""Empty libraries, or none, where libc has it all."""


def sources() -> list[Path]:
    """The C sources of libinarch."""
    return sorted(Path(__file__).parent.glob("*.c"))


def tool_sources() -> list[Path]:
    """The C sources of inarch-run, beside those of libinarch."""
    return sorted(Path(__file__).parent.glob("tool/*.c"))
