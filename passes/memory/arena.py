"""Where buffers with known lifetimes go in one arena: greedy by size, best fit.

The planner of TensorFlow Lite ("Greedy by Size for Offset Calculation" in Pisarchyk and Lee,
Efficient Memory Management for Deep Neural Net Inference, arXiv:2001.03288): the largest buffer
first, each into the smallest gap that is wide enough between those placed before it that are alive
at the same time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is alive from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        """Whether both are alive at one step."""
        return self.first <= other.last and other.first <= self.last


def align(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`.

    >>> align(0, 64), align(1, 64), align(64, 64)
    (0, 64, 64)
    """
    return -(-size // alignment) * alignment


def place(lifetimes: Sequence[Lifetime], alignment: int) -> tuple[list[int], int]:
    """`(offset of each, bytes in all)`; buffers that meet never overlap.

    Deterministic. Takes time in the number of pairs that meet, not in that of all pairs.

    >>> place([Lifetime(64, 0, 1), Lifetime(128, 1, 2), Lifetime(64, 2, 3)], 64)
    ([128, 0, 128], 192)
    """
    offsets = [0] * len(lifetimes)
    placed = _Placed()
    for index in _largest_first(lifetimes):
        life = lifetimes[index]
        size = align(life.size, alignment)
        if size == 0:
            continue
        offsets[index] = _best_gap(placed.meeting(life), size)
        placed.add(life, offsets[index], offsets[index] + size)
    return offsets, placed.top


def _largest_first(lifetimes: Sequence[Lifetime]) -> list[int]:
    """Positions by decreasing size; of equal ones the first used first."""
    return sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, lifetimes[i].first, i))


class _Placed:
    """The byte ranges given away so far, found by lifetime."""

    def __init__(self) -> None:
        self.top = 0
        self._by_first: list[tuple[int, int, int]] = []
        """`(first step, begin, end)`, sorted."""
        self._at_step: dict[int, list[tuple[int, int]]] = {}
        """`(begin, end)` of those alive at a step."""

    def add(self, life: Lifetime, begin: int, end: int) -> None:
        insort(self._by_first, (life.first, begin, end))
        for step in range(life.first, life.last + 1):
            self._at_step.setdefault(step, []).append((begin, end))
        self.top = max(self.top, end)

    def meeting(self, life: Lifetime) -> list[tuple[int, int]]:
        """The ranges, by their begin, of what is alive at `life.first` or begins within `life`."""
        starts = self._by_first[
            bisect_right(self._by_first, life.first, key=_first) : bisect_left(
                self._by_first, life.last + 1, key=_first
            )
        ]
        return sorted(
            [*self._at_step.get(life.first, ()), *((begin, end) for _, begin, end in starts)]
        )


def _first(entry: tuple[int, int, int]) -> int:
    return entry[0]


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Where the smallest gap of at least `size` between sorted ranges begins, else their end."""
    best: tuple[int, int] | None = None
    end = 0
    for begin, stop in taken:
        gap = begin - end
        if gap >= size and (best is None or gap < best[0]):
            best = gap, end
        end = max(end, stop)
    return end if best is None else best[1]
