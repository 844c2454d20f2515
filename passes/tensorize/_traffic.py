"""How the caches like the loops around a call: their best order, and the cycles that memory adds.

An operand is a `Stream`: what a call touches of it lies in runs of consecutive bytes. Everything is brought
once; a loop that does not move an operand comes back to what it has loaded, and what has passed
through the caches in between decides where it is found again. Only the first piece of a nest is looked at,
the others are parts like it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from inarch.passes.tensorize._cost import (
    L1,
    L1_BYTES,
    L1_WAYS,
    L2,
    L2_BYTES,
    LINE_BYTES,
    MEMORY,
    PAGE_BYTES,
    PREFETCHED,
    Level,
)

MAX_PERMUTED = 4
"""Loops of which every order is tried: 24."""


@dataclass(frozen=True)
class Loop:
    """A loop around a call: its axis, its trip count, and whether it reduces."""

    axis: int
    count: int
    is_reduction: bool


@dataclass(frozen=True)
class Stream:
    """An operand: how it moves along the axes of a nest, in elements of `nbytes`."""

    strides: tuple[int, ...]
    dimensions: tuple[tuple[tuple[int, int], ...], ...]
    """Its index by dimension, as (axis, coefficient); a window's axes share one."""
    nbytes: int
    is_packed: bool
    """A constant: it will lie in the order in which it is read."""
    is_late: bool
    """Read when the reduction is done, by an epilogue."""

    def touched(self, points: Sequence[int]) -> int:
        """Bytes of so many points of each axis, each counted once."""
        total = self.nbytes
        for dimension in self.dimensions:
            count = extent = 1
            for axis, by in dimension:
                count *= points[axis]
                extent += abs(by) * (points[axis] - 1)
            total *= min(count, extent)
        return total

    def run(self, points: Sequence[int]) -> int:
        """Bytes from the first of a run of consecutive lines to behind the last."""
        nbytes = self.nbytes
        for stride, count in sorted(
            (abs(s) * nbytes, n) for s, n in zip(self.strides, points, strict=True) if s and n > 1
        ):
            if stride > self._reach(nbytes):
                break
            nbytes += stride * (count - 1)
        return nbytes

    def goes_on(self, axis: int, block: int, run: int) -> bool:
        """Whether the next call of a loop along the axis begins where the run ends."""
        return 0 < self.step(axis, block) <= self._reach(run)

    def step(self, axis: int, block: int) -> int:
        """Bytes from one call to the next of a loop along the axis."""
        return abs(self.strides[axis]) * block * self.nbytes

    def _reach(self, nbytes: int) -> int:
        return nbytes + 2 * LINE_BYTES  # over the border of a padded row, or to every second line

    def is_crowded(self, points: Sequence[int]) -> bool:
        """Whether the rows of a tile fall into one set of the first-level cache, which has too few ways."""
        return not self.is_packed and any(
            stride and count > L1_WAYS and stride * self.nbytes % PAGE_BYTES == 0
            for stride, count in zip(self.strides, points, strict=True)
        )


@dataclass(frozen=True)
class _Panel:
    """What one call touches of a stream, and where the stream comes from."""

    nbytes: int
    lines: float
    runs: float
    axes: frozenset[int]
    whole: int
    origin: Level
    stream: Stream
    run: int


def traffic(
    streams: Sequence[Stream], sizes: Sequence[int], blocks: Sequence[int], loops: Sequence[Loop]
) -> tuple[tuple[Loop, ...], float]:
    """The loops, outermost first, in the order that costs least, and the cycles that memory adds.

    `sizes` are the points of the axes, `blocks` those of one call. Among equals the order is taken that
    keeps most bytes in place from call to call, then the one given.
    """
    panels = [_panel(stream, sizes, blocks) for stream in streams]
    orders = permutations(loops) if 1 < len(loops) <= MAX_PERMUTED else [tuple(loops)]
    best: tuple[float, int] | None = None
    found: tuple[Loop, ...] = ()
    for order in orders:
        key = (_cycles(order, panels, blocks), _moved(order, panels))
        if best is None or key < best:
            best, found = key, order
    assert best is not None
    return found, best[0]


def _panel(stream: Stream, sizes: Sequence[int], blocks: Sequence[int]) -> _Panel:
    nbytes, whole = stream.touched(blocks), stream.touched(sizes)
    run = nbytes if stream.is_packed else stream.run(blocks)
    runs = nbytes / run
    lines = runs * math.ceil(run / LINE_BYTES)
    moving = frozenset(
        axis
        for axis, (stride, size, block) in enumerate(
            zip(stream.strides, sizes, blocks, strict=True)
        )
        if stride and block < size
    )
    origin = MEMORY if stream.is_packed or whole > L2_BYTES // 2 else L2
    if not stream.is_packed and whole <= L1_BYTES // 2:
        origin = L1
    return _Panel(nbytes, lines, runs, moving, whole, origin, stream, run)


def _moved(order: Sequence[Loop], panels: Sequence[_Panel]) -> int:
    """Bytes that the innermost loop moves on from at each step."""
    return sum(p.nbytes for p in panels if order and order[-1].axis in p.axes)


def _cycles(order: Sequence[Loop], panels: Sequence[_Panel], blocks: Sequence[int]) -> float:
    total = sum(_first(order, panel, blocks) for panel in panels)
    call = _level(sum(panel.nbytes for panel in panels))
    outer = 1
    for at, loop in enumerate(order):
        inside = order[at + 1 :]
        level: Level | None = None
        again = outer * (loop.count - 1)
        outer *= loop.count
        for panel in panels:
            if loop.axis in panel.axes:
                continue
            moving = math.prod(one.count for one in inside if one.axis in panel.axes)
            if moving == 1:
                where = call
            else:
                where = level = level or _level(sum(_between(inside, panels)))
            if where is not L1:
                hidden = PREFETCHED if panel.stream.is_packed else 1.0
                each = panel.lines * where.line + panel.runs * where.run
                total += again * moving * each * hidden
    return total


def _level(nbytes: float) -> Level:
    """Where it is found again after so many bytes have passed."""
    return L1 if nbytes <= L1_BYTES else L2 if nbytes <= L2_BYTES else MEMORY


def _first(order: Sequence[Loop], panel: _Panel, blocks: Sequence[int]) -> float:
    """Of bringing all of a stream once."""
    calls = panel.whole / panel.nbytes
    origin, joined = panel.origin, 1  # calls that go on where the one before ended
    lines = panel.whole / LINE_BYTES
    if panel.stream.is_packed:
        return lines * origin.line
    run = panel.run
    for loop in reversed(order):
        if not panel.stream.goes_on(loop.axis, blocks[loop.axis], run):
            break
        joined *= loop.count
        run += panel.stream.step(loop.axis, blocks[loop.axis]) * (loop.count - 1)
    if joined == 1:
        lines = calls * panel.lines
    cycles = lines * origin.line + calls * panel.runs * (origin.run + origin.begin / joined)
    if panel.stream.is_late:
        cycles += calls / joined * origin.wait
    return cycles


def _between(loops: Sequence[Loop], panels: Sequence[_Panel]) -> Iterator[float]:
    """Bytes of each stream that a run of these loops touches."""
    for panel in panels:
        moving = math.prod(loop.count for loop in loops if loop.axis in panel.axes)
        yield min(panel.whole, panel.nbytes * moving)
