"""Where buffers with known lifetimes go in one arena: greedy by size, best fit.

The planner of TensorFlow Lite ("Greedy by Size for Offset Calculation" in Pisarchyk and Lee,
Efficient Memory Management for Deep Neural Net Inference, arXiv:2001.03288): the largest buffer
first, each into the smallest gap that is wide enough between those placed before it that are alive
at the same time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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

    Deterministic. For n buffers takes `n log n` times the ranges that those alive together leave when what
    touches is one: few, as the smallest gap is taken.

    >>> place([Lifetime(64, 0, 1), Lifetime(128, 1, 2), Lifetime(64, 2, 3)], 64)
    ([128, 0, 128], 192)
    """
    offsets = [0] * len(lifetimes)
    placed = _Placed(sorted({life.first for life in lifetimes}))
    top = 0
    for index in _largest_first(lifetimes):
        life = lifetimes[index]
        size = align(life.size, alignment)
        if size == 0:
            continue
        offsets[index] = begin = _best_gap(placed.meeting(life), size)
        placed.add(life, begin, begin + size)
        top = max(top, begin + size)
    return offsets, top


def _largest_first(lifetimes: Sequence[Lifetime]) -> list[int]:
    """Positions by decreasing size; of equal ones the first used first."""
    return sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, lifetimes[i].first, i))


class _Ranges:
    """A set of bytes, as disjoint ranges in order; those that touch are one."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []

    def add(self, begin: int, end: int) -> None:
        low, high = bisect_left(self.ends, begin), bisect_right(self.begins, end)
        if low < high:
            begin, end = min(begin, self.begins[low]), max(end, self.ends[high - 1])
        self.begins[low:high] = [begin]
        self.ends[low:high] = [end]


class _Placed:
    """The byte ranges given away so far, by lifetime: a segment tree over the steps at which one begins.

    Others do not matter: of two lifetimes that meet, one is alive when the other begins. Node 1 is all steps,
    and node i halves into 2 i and 2 i + 1.
    """

    def __init__(self, steps: Sequence[int]) -> None:
        self._steps = steps
        self._leaves = 1 << max(len(steps) - 1, 0).bit_length()
        self._through: dict[int, _Ranges] = {}
        """By node, those alive at all of its steps, but not at all of its parent's."""
        self._within: dict[int, _Ranges] = {}
        """By node, those alive at some of its steps, but not at all of its parent's."""

    def add(self, life: Lifetime, begin: int, end: int) -> None:
        nodes, around = self._nodes(life)
        for node in nodes:
            self._through.setdefault(node, _Ranges()).add(begin, end)
        for node in around.union(nodes):
            self._within.setdefault(node, _Ranges()).add(begin, end)

    def meeting(self, life: Lifetime) -> list[tuple[int, int]]:
        """The ranges, by their begin, of what is alive at some step of `life`."""
        nodes, around = self._nodes(life)
        found = [self._within[node] for node in nodes if node in self._within]
        found += [self._through[node] for node in around if node in self._through]
        return sorted({pair for each in found for pair in zip(each.begins, each.ends, strict=True)})

    def _nodes(self, life: Lifetime) -> tuple[list[int], set[int]]:
        """The fewest nodes that are the steps of `life`, and those above its ends (and so above them)."""
        low = bisect_left(self._steps, life.first) + self._leaves
        high = bisect_right(self._steps, life.last) + self._leaves
        around = {end >> up for end in (low, high - 1) for up in range(1, low.bit_length())}
        nodes: list[int] = []
        while low < high:
            if low % 2:
                nodes.append(low)
                low += 1
            if high % 2:
                high -= 1
                nodes.append(high)
            low, high = low // 2, high // 2
        return nodes, around


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
