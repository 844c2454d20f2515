"""The files of Inarch as they are: what is kept of a compilation depends on all of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import inarch
from inarch.core.cache import key_of

CHANGING_NS = 10_000_000_000
"""What changed so shortly before may have done so behind the back of this process."""


def sources() -> tuple[str, bool]:
    """All files of Inarch as they are, and whether none of them has changed just now."""
    key, newest = _state()
    return key, time.time_ns() - newest > CHANGING_NS


def running() -> str | None:
    """As `sources`, of the files that this process runs; None where one has changed since it began."""
    key, newest = _state()
    return key if inarch.BEGAN_NS - newest > CHANGING_NS else None


def _state() -> tuple[str, int]:
    """What is equal where all files are, and when the last one changed, in ns."""
    package = Path(inarch.__file__).parent
    found: list[tuple[str, int, int]] = []
    newest = 0
    folders = [str(package)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name == "__pycache__":
                    continue
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    state = entry.stat()
                    found.append((entry.path, state.st_size, state.st_mtime_ns))
                    newest = max(newest, state.st_mtime_ns)
    return key_of(repr(sorted(found))), newest
