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
from threading import RLock, get_ident, local  # noqa: TID251
from typing import Any

_PATIENCE_SECONDS = 5.0
"""After that a fork goes on: whoever is inside may be waiting for what the thread that forks holds."""
_PAUSE_SECONDS = 2e-4

_Locks = dict[int, "weakref.ref[Any]"]
"""By identity, in a dict: `list` copies that in one step, so that no other thread adds a lock meanwhile."""
_SHORT: _Locks = {}
_LONG: _Locks = {}


class _Forking(local):
    def __init__(self) -> None:
        self.held: list[Any] = []


_HERE = _Forking()
"""Locks that this thread holds while it forks: several may do so at once."""


def short_lock() -> Any:
    """A reentrant lock for sections that end soon."""
    return wait_for(RLock())


def wait_for(lock: Any) -> Any:
    """Has a fork wait for a lock of others, as `short_lock` has; the lock."""
    return _noted(_SHORT, lock)


def _noted(locks: _Locks, lock: Any) -> Any:
    key = id(lock)
    locks[key] = weakref.ref(lock, lambda _: locks.pop(key, None))
    return lock


def _alive(locks: _Locks) -> list[Any]:
    return [lock for each in list(locks.values()) if (lock := each()) is not None]


def long_lock() -> Any:
    """A reentrant lock for sections that may take seconds; what they change is whole at any time."""
    return _noted(_LONG, RLock())


def _imports() -> tuple[Any, list[str]]:
    """Python's locks of modules by name, as far as this one tells, and those that other threads hold."""
    locks: Any = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = [(name, getattr(made(), "owner", None)) for name, made in list(locks.items())]
    return locks, [name for name, owner in owners if owner not in (None, get_ident())]


def _before() -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        # All that are free: waiting for one while others are held could be a deadlock.
        short = _alive(_SHORT)
        free = [lock for lock in short if lock.acquire(blocking=False)]
        _HERE.held = free + [lock for lock in _alive(_LONG) if lock.acquire(blocking=False)]
        is_last = time.monotonic() > until
        if is_last or (len(free) == len(short) and not _imports()[1]):
            return
        _release()
        time.sleep(_PAUSE_SECONDS)


def _release() -> None:
    while _HERE.held:
        _HERE.held.pop().release()


def _in_child() -> None:
    held = set(map(id, _HERE.held))
    _release()
    for lock in (*_alive(_SHORT), *_alive(_LONG)):
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
