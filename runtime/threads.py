"""How many threads run a call: said for a call, for a module, or for all calls within a `with`.

    module(image, threads=1)
    module = load("model.inarch", threads=2)
    with inarch.threads(1):
        module(image)

What is said closest to the call counts; where nothing is, INARCH_NUM_THREADS, or one thread for each
processor that the process may use. Results do not depend on it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import local
from typing import Any

from inarch.core.arguments import checked_threads
from inarch.core.forks import short_lock
from inarch.runtime.abi import ffi

_UNSAID = 0


class _Here(local):
    threads = _UNSAID
    """What calls of this thread use."""
    limit = _UNSAID
    """What they use at most, whatever is said for them."""


_here = _Here()


def threads_here() -> int:
    """What was said for calls of this thread, within their limit; 0: nothing."""
    said, limit = _here.threads, _here.limit
    return min(said, limit) if said and limit else said or limit


def limit_here() -> int:
    """At most so many threads run any call of this thread; 0: there is no limit."""
    return _here.limit


def set_limit_here(threads: int) -> None:
    """Sets what `limit_here` gives: for tools that limit the threads of all libraries."""
    _here.limit = threads


@contextmanager
def threads(most: object) -> Generator[None]:
    """Calls of this thread within are run by at most so many threads; None: as it was."""
    before = _here.threads
    if most is not None:
        _here.threads = checked_threads(most)
    try:
        yield
    finally:
        _here.threads = before


POOL_TYPE = "const inarch_pool *(*)(const inarch_pool *)"
"""Of the function `<prefix>_pool`."""


class Pool:
    """The pool of this process: the first one that a library brought, whose code therefore stays."""

    def __init__(self) -> None:
        self._lock = short_lock()
        self._pool: Any = None
        self._handle: Any = None

    def share(self, pool: Any, handle: Any) -> bool:
        """Has a library use the pool, by its function `pool`; False where it has no loop to share."""
        with self._lock:
            own = pool(ffi().NULL if self._pool is None else self._pool)
            if own == ffi().NULL:
                return False
            if self._pool is None:
                self._pool, self._handle = own, handle
            return True

    def is_of(self, handle: Any) -> bool:
        """Whether the pool is that of the library which was opened as `handle`."""
        return self._handle is not None and handle == self._handle


POOL = Pool()
"""One for a process: threads of several pools would only wait for each other."""
