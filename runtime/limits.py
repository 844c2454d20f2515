"""Tools that limit threads see ours: threadpoolctl, as scikit-learn and joblib use it, where it is installed.

    with threadpoolctl.threadpool_limits(1):
        module(image)

It finds pools by the names of the libraries that a process has opened. Those of artifacts have none that is
known, so the pool stands at the library of cffi, by which all of them are called. It limits the calls of the
thread that asks for it, whatever is said for them.
"""

# threadpoolctl is untyped:
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportIncompatibleMethodOverride=false
from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from inarch.artifact.manifest import ABI
from inarch.core.arguments import checked_threads
from inarch.runtime.threads import limit_here, set_limit_here

_GROUP = Path("/sys/fs/cgroup")


class _Usual(int):
    """A number of threads that is no limit: who sets what was found there before lifts the limit."""


@cache
def tell_threadpoolctl() -> None:
    """Registers the pool of this process, once; without threadpoolctl, or one before 3.2, nothing happens."""
    try:
        from threadpoolctl import LibController, register
    except ImportError:
        return

    class InarchController(LibController):
        """The pool of compiled models."""

        user_api = "inarch"
        internal_api = "inarch"
        filename_prefixes = ("_cffi_backend",)

        def get_num_threads(self) -> int:  # pyrefly: ignore[bad-override] - untyped
            return limit_here() or _Usual(usual_threads())

        def set_num_threads(self, num_threads: Any) -> None:
            lifted = isinstance(num_threads, _Usual)
            set_limit_here(0 if lifted else checked_threads(num_threads))

        def get_version(self) -> str:  # pyrefly: ignore[bad-override] - untyped
            return f"ABI {ABI}"

    register(InarchController)


@cache
def usual_threads() -> int:
    """The threads of a call for which no number is said, as libraries count them (`pool.c`)."""
    count = _processors()
    said = os.environ.get("INARCH_NUM_THREADS", "")
    return min(int(said), 4 * count) if said.isdecimal() and int(said) else count


def _processors() -> int:
    """Those that this process may use: its affinity, and the quota of its control group, rounded up."""
    has_affinity = hasattr(os, "sched_getaffinity")
    found = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    numbers = [
        _numbers("cpu.max"),
        _numbers("cpu/cpu.cfs_quota_us") + _numbers("cpu/cpu.cfs_period_us"),
    ]
    quota = next((pair for pair in numbers if len(pair) == 2 and min(pair) > 0), None)
    return max(1, found if quota is None else min(found, -(-quota[0] // quota[1])))


def _numbers(name: str) -> list[int]:
    try:
        return [int(word) for word in (_GROUP / name).read_text().split()]
    except (OSError, ValueError):
        return []
