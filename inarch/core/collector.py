"""Python's garbage collector while a program is compiled."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

from inarch.core.forks import short_lock

_YOUNG = 50_000
"""Objects that are made between two collections; Python's own number (700) is for small heaps."""


class _Rarely:
    def __init__(self) -> None:
        self._lock = short_lock()
        self._count = 0
        self._before = (0, 0, 0)

    def begin(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < _YOUNG:
                    gc.set_threshold(_YOUNG, *self._before[1:])

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and gc.get_threshold()[0] == _YOUNG:
                gc.set_threshold(*self._before)


_RARELY = _Rarely()


@contextmanager
def collected_rarely() -> Generator[None]:
    """Has the collector look for garbage less often: a program that is alive is most of what it would visit.

    The thresholds are those of the process; the last of several blocks, in any threads, restores them. Who
    turned the collector off, or set more than that, finds it as it was.
    """
    _RARELY.begin()
    try:
        yield
    finally:
        _RARELY.end()
