"""How long an example takes to be ready, for its first call, and for each of some more; one line of JSON."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

CALLS, SECONDS = 40, 6.0


def _age() -> float:
    """Seconds since this process began."""
    begun = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(begun) / os.sysconf("SC_CLK_TCK")


def timed(call: Callable[[], object], result: Callable[[object], object]) -> None:
    """Calls it; `result` has what is compared, in lists of numbers and text."""
    ready = _age()
    found = call()
    first = time.perf_counter()
    said = {"ready": ready, "first": _age() - ready}
    took: list[float] = []
    while len(took) < CALLS and (not took or time.perf_counter() - first < SECONDS):
        begin = time.perf_counter()
        found = call()
        took.append(time.perf_counter() - begin)
    said |= {"least": min(took), "median": statistics.median(took)}
    print(json.dumps({**said, "result": result(found)}))
