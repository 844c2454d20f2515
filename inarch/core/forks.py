"""Locks across `fork`: a child has no other threads, so what they held stays locked for good.

`short_lock` makes those of what a child goes on using, as libraries that are open and files that are
mapped: a fork waits until no other thread holds one. `long_lock` makes those that are held while something
compiles: a fork does not wait, and the child's are free. A fork waits for imports, too, whose locks are
Python's.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from threading import RLock, get_ident  # noqa: TID251
from typing import Any

_PATIENCE_SECONDS = 5.0
"""After that a fork goes on: whoever is inside may be waiting for what the thread that forks holds."""
_PAUSE_SECONDS = 2e-4

_SHORT: weakref.WeakSet[Any] = weakref.WeakSet()
_LONG: weakref.WeakSet[Any] = weakref.WeakSet()
_HELD: list[Any] = []
"""Locks that the thread that forks holds meanwhile."""


def short_lock() -> Any:
    """A reentrant lock for sections that end soon."""
    return wait_for(RLock())


def wait_for(lock: Any) -> Any:
    """Has a fork wait for a lock of others, as `short_lock` has; the lock."""
    _SHORT.add(lock)
    return lock


def long_lock() -> Any:
    """A reentrant lock for sections that may take seconds; what they change is whole at any time."""
    lock = RLock()
    _LONG.add(lock)
    return lock


def _imports() -> tuple[Any, list[str]]:
    """Python's locks of modules by name, as far as this one tells, and those that other threads hold."""
    locks: Any = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = [(name, getattr(made(), "owner", None)) for name, made in list(locks.items())]
    return locks, [name for name, owner in owners if owner not in (None, get_ident())]


def _before() -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        # All that are free: waiting for one while others are held could be a deadlock.
        _HELD.extend(lock for lock in list(_LONG) if lock.acquire(blocking=False))
        short = [lock for lock in list(_SHORT) if lock.acquire(blocking=False)]
        _HELD.extend(short)
        is_last = time.monotonic() > until
        if is_last or (len(short) == len(_SHORT) and not _imports()[1]):
            return
        _release()
        time.sleep(_PAUSE_SECONDS)


def _release() -> None:
    while _HELD:
        _HELD.pop().release()


def _in_child() -> None:
    held = set(map(id, _HELD))
    _release()
    for lock in (*_SHORT, *_LONG):
        if id(lock) not in held:
            lock._at_fork_reinit()  # noqa: SLF001  # as the standard library's own locks
    # Who began an import since the last look will not end it here: it is done again.
    locks, names = _imports()
    for name in names:
        del locks[name]
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


# Those who register later are asked earlier; logging must not do so in the middle of a fork.
os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
import logging  # noqa: E402, F401  # pyright: ignore[reportUnusedImport]
