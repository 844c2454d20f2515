"""Seeds from the checkout, and files for what reads only files."""

from __future__ import annotations

import atexit
import os
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from inarch.core.scratch import scratch

ROOT = Path(__file__).parents[2]
"""The checkout, where this is one."""


@dataclass(frozen=True)
class Corpus:
    """What a file of `inarch/fuzz/seeds/` says."""

    seeds: list[bytes]
    words: list[bytes]
    """What means something to the parser and is in none of the seeds."""


@cache
def corpus(parser: str) -> Corpus:
    """The corpus of a parser."""
    said = tomllib.loads((files("inarch.fuzz.seeds") / f"{parser}.toml").read_text())
    return Corpus(*([each.encode() for each in said.get(key, ())] for key in ("seeds", "words")))


def texts(*patterns: str) -> list[bytes]:
    """The contents of the checkout's files that match, in order; none of an installed package."""
    found = (path for pattern in patterns for path in sorted(ROOT.glob(pattern)))
    return [path.read_bytes() for path in found if path.is_file()]


@cache
def _folder() -> Path:
    # In memory where the system has that: opening a file on a disk takes as long as a case.
    memory, work = Path("/dev/shm"), ExitStack()
    atexit.register(work.close)
    return work.enter_context(
        scratch("inarch-fuzz-", memory if os.access(memory, os.W_OK) else None)
    )


def written(name: str, data: bytes) -> Path:
    """A file of this process called `name` that holds `data`."""
    path = _folder() / name
    path.write_bytes(data)
    return path
