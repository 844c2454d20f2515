"""Whether a file is as it was: by its size and times, and by the SHA-256 of its content."""

from __future__ import annotations

import os
import time
from hashlib import file_digest
from pathlib import Path

from inarch.core.cache import Cache, key_of
from inarch.core.outside.regular import open_regular

_TICK_NS = 50_000_000
"""A file that was changed so shortly before may change again at the same time, as file systems count it..."""
_COARSE_NS = 2_000_000_000
"""... or those that count in seconds."""

State = list[int]
"""Device, inode, size, and the times of change of content and of all else in ns."""


def state_of(path: Path | str | int) -> State | None:
    """What says that a file is still the same (an open one by its descriptor); None where there is none."""
    try:
        state = os.stat(path)  # noqa: PTH116 - a thousand files: Path would take longer than the call
    except OSError:
        return None
    return [state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def is_settled(state: State | None) -> bool:
    """Whether a file that changes from now on will have another state."""
    if state is None:
        return False
    last = max(state[-2:])
    tick = _TICK_NS if last % 1_000_000 else _COARSE_NS
    return time.time_ns() - last > tick


def digest_of(path: Path | str, cache: Cache) -> str | None:
    """The SHA-256 of a file, which is read once for each state of it; None where it cannot be read."""
    state = state_of(path)
    settled = is_settled(state)
    key = key_of("digest", os.path.abspath(path), repr(state))  # noqa: PTH100 - not through links
    known = cache.get(key) if settled else None
    if known is not None:
        return known.decode()
    try:
        with open_regular(path) as file:
            digest = file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    if settled and state_of(path) == state:
        cache.put(key, digest.encode())
    return digest
