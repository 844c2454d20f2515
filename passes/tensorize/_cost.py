"""What a candidate costs: the kernel's cycles, the copies around it, and how caches like the loops.

Units: cycles of one core, bytes. Machine numbers are those of current x86-64 servers (Zen 4, Ice Lake and
later: Agner Fog's tables; the order of magnitude is what matters for choosing).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

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


MAX_PERMUTED = 4
"""Loops of which every order is tried: 24."""


@dataclass(frozen=True)
class Loop:
    """A loop around a call: its axis, its trip count, and whether it reduces."""

    axis: int
    count: int
    is_reduction: bool


@dataclass(frozen=True)
class Panel:
    """What one call touches of an operand, and the axes whose loops move on to another panel."""

    nbytes: int
    axes: frozenset[int]
    total: int
    """Bytes of the whole operand: panels may overlap."""


def order_loops(loops: Sequence[Loop], panels: Mapping[str, Panel]) -> tuple[Loop, ...]:
    """The loops, outermost first, in the order in which panels are reloaded at the least cost.

    Among equals the one is taken that keeps most bytes in place from call to call, then the order given.
    """
    orders = permutations(loops) if len(loops) <= MAX_PERMUTED else [tuple(loops)]
    return min(orders, key=lambda order: (stream_cycles(order, panels), _moved(order, panels)))


def _moved(order: Sequence[Loop], panels: Mapping[str, Panel]) -> int:
    """Bytes that the innermost loop moves on from at each step."""
    return sum(p.nbytes for p in panels.values() if order and order[-1].axis in p.axes)


def stream_cycles(loops: Sequence[Loop], panels: Mapping[str, Panel]) -> float:
    """Cycles that reloading panels adds, for loops in this order, outermost first.

    A loop that does not move a panel, with loops inside that do, comes back to what it has loaded at
    each step but the first. In between, everything that the loops inside touch passes through the
    caches: what still fits the first one costs nothing, else it comes from the second, or from memory.
    """
    total = 0.0
    for at, loop in enumerate(loops):
        inside = loops[at + 1 :]
        between = _touched(inside, panels)
        if between <= L1_BYTES:
            continue
        rate = L2_BYTES_PER_CYCLE if between <= L2_BYTES else MEMORY_BYTES_PER_CYCLE
        again = math.prod(one.count for one in loops[:at]) * (loop.count - 1)
        for panel in panels.values():
            moving = [one.count for one in inside if one.axis in panel.axes]
            if loop.axis not in panel.axes and moving:
                total += again * math.prod(moving) * panel.nbytes / rate
    return total


def _touched(loops: Sequence[Loop], panels: Mapping[str, Panel]) -> float:
    """Bytes that a run of these loops touches."""
    return sum(
        min(
            panel.total,
            panel.nbytes * math.prod(loop.count for loop in loops if loop.axis in panel.axes),
        )
        for panel in panels.values()
    )


def copy_cycles(nbytes: float) -> float:
    """Of reading or writing so many bytes in a copy, a fill, or an elementwise nest."""
    return nbytes / COPY_BYTES_PER_CYCLE


def call_cycles(calls: int, cycles: float) -> float:
    """Of that many calls of a kernel that takes `cycles` each."""
    return calls * (cycles + CALL_CYCLES)
