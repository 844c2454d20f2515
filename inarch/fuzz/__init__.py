"""Mutated inputs for whatever reads files and texts of strangers: each is read, or refused with one line.

    python -m inarch.fuzz --parser mlir --count 100000 --seed 1
    python -m inarch.fuzz --parser mlir --file build/fuzz/mlir/hang-17.mlir

A parser is one file in `inarch/fuzz/parsers/` with a `PARSER`, or an entry point of the
group `inarch.fuzz.parsers`. Cases run in a child process under limits of time and memory;
case `n` of a seed is the same input on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from inarch.core.plugins import API_VERSION, Extensions

SECONDS = 10
"""Processor time that a case may take."""

MEMORY = 2 << 30
"""Bytes that a case may map, beyond what the process had before the first one."""

LINE = 4000
"""Characters that a refusal may have: more is no message."""


@dataclass(frozen=True)
class Parser:
    """Something that reads input which strangers made.

    `check(data)` reads `data`; it raises InarchError to refuse it, and nothing else. `seeds()` are
    valid inputs to mutate. `mutate(data, seeds, rng)` makes another input from one; without it, all
    mutations of bytes and text apply.
    """

    seeds: Callable[[], Sequence[bytes]]
    check: Callable[[bytes], None]
    suffix: str = ".txt"
    """Of files with reproducers."""
    located: bool = True
    """Whether every refusal says where."""
    words: Sequence[bytes] = ()
    """What means something to the parser and is in none of the seeds."""
    mutate: Callable[[bytes, Sequence[bytes], Random], bytes] | None = None
    api: int = API_VERSION


PARSERS: Extensions[Parser] = Extensions("inarch.fuzz.parsers", "PARSER")
