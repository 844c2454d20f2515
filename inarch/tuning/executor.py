"""Who runs jobs: one file a kind in `executors/`, found by name; other packages add theirs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from inarch.core.plugins import Extensions


class Pool(Protocol):
    """What runs functions elsewhere: any `concurrent.futures.Executor` is one."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Has the function called with arguments, all of which can be pickled."""
        ...


@dataclass(frozen=True)
class Executor:
    """A kind of pool."""

    open: Callable[[str, int], AbstractContextManager[Pool]]
    """An address (what it is, the kind says; empty: none was given) and a number of workers -> the pool.

    Raises InarchError where there is nobody at the address, or the packages that it needs are missing."""
    description: str
    """One line, for `inarch list executors`."""
    api: int = 1


EXECUTORS: Extensions[Executor] = Extensions(
    "inarch.tuning.executors", "EXECUTOR", entry_group="inarch.executors"
)
