"""What a candidate costs: the kernel's cycles, the copies around it, and how caches like the loops.

Units: cycles of one core, bytes. Machine numbers are those of current x86-64 servers (Zen 4, Ice Lake and
later: Agner Fog's tables; the order of magnitude is what matters for choosing).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

L1_BYTES = 32 * 1024
"""First-level data cache; half of it is left to what streams through."""
L2_BYTES = 1024 * 1024
"""Second-level cache."""
COPY_BYTES_PER_CYCLE = 8.0
"""Of a copy or an elementwise nest, read and written bytes together; rearranging ones are slower than
`memcpy`."""
CALL_CYCLES = 8.0
"""Around one call: addresses, the loop."""
L2_BYTES_PER_CYCLE = 32.0
"""What a panel that fell out of the first-level cache arrives with."""
MEMORY_BYTES_PER_CYCLE = 6.0
"""What one that fell out of the second-level cache arrives with."""


@dataclass(frozen=True)
class Loop:
    """A loop around a call: its axis, its trip count, and whether it reduces."""

    axis: int
    count: int
    is_reduction: bool


@dataclass(frozen=True)
class Panel:
    """What one call touches of an operand, in bytes, and the axes whose loops move on to another."""

    nbytes: int
    axes: frozenset[int]


def order_loops(loops: Sequence[Loop], panels: Mapping[str, Panel]) -> tuple[Loop, ...]:
    """The loops, outermost first, so that what is read again is still in the nearest cache.

    From the inside out, the next loop is the one along which the fewest bytes come anew: the loops inside
    then keep the largest panel in place that fits the first-level cache. Ties keep the order given.
    """
    remaining = list(loops)
    ordered: list[Loop] = []
    while remaining:
        traffic = [_traffic(loop, panels) for loop in remaining]
        last = max(at for at, each in enumerate(traffic) if each == min(traffic))
        ordered.insert(0, remaining.pop(last))
    return tuple(ordered)


def _traffic(inner: Loop, panels: Mapping[str, Panel]) -> float:
    """Bytes that a step of `inner`, as the innermost loop, brings anew; of a panel it keeps, once a run."""
    total = 0.0
    for panel in panels.values():
        moves = inner.axis in panel.axes
        fits = panel.nbytes <= L1_BYTES // 2
        total += panel.nbytes if moves or not fits else panel.nbytes / inner.count
    return total


def stream_cycles(loops: Sequence[Loop], panels: Mapping[str, Panel]) -> float:
    """Cycles that loading panels adds, for loops in this order, outermost first.

    A panel is loaded again at each step of the innermost loop that moves it, and of all outside. Between two
    loads of the same panel everything that the loops inside touch passes through the caches.
    """
    total = 0.0
    for panel in panels.values():
        moving = [at for at, loop in enumerate(loops) if loop.axis in panel.axes]
        loads = math.prod(loop.count for loop in loops[: moving[-1] + 1]) if moving else 1
        distinct = math.prod(loops[at].count for at in moving)
        again = loads - distinct
        if again <= 0:
            continue
        outside = next((at for at, loop in enumerate(loops) if loop.axis not in panel.axes), 0)
        between = _touched(loops[outside + 1 :], panels)
        if between > L2_BYTES:
            total += again * panel.nbytes / MEMORY_BYTES_PER_CYCLE
        elif between > L1_BYTES:
            total += again * panel.nbytes / L2_BYTES_PER_CYCLE
    return total


def _touched(loops: Sequence[Loop], panels: Mapping[str, Panel]) -> float:
    """Bytes that run of these loops touches."""
    return sum(
        panel.nbytes * math.prod(loop.count for loop in loops if loop.axis in panel.axes)
        for panel in panels.values()
    )


def copy_cycles(nbytes: float) -> float:
    """Of reading or writing so many bytes in a copy, a fill, or an elementwise nest."""
    return nbytes / COPY_BYTES_PER_CYCLE


def call_cycles(calls: int, cycles: float) -> float:
    """Of that many calls of a kernel that takes `cycles` each."""
    return calls * (cycles + CALL_CYCLES)
