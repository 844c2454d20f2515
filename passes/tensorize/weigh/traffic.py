"""How the caches like the loops around a call: their best order, and the cycles that memory adds.

An operand is a `Stream`: what a call touches of it lies in runs of consecutive bytes. Everything is brought
once; a loop that does not move an operand comes back to what it has loaded, and what has passed
through the caches in between decides where it is found again. Rows that share sets of a cache
are not found there, and more pages than the TLBs hold are looked up again in each call. Only the first
piece of a nest is looked at, the others are parts like it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from inarch.machine.machine import Cache, Machine
from inarch.passes.tensorize.weigh.cost import PREFETCHED, WRITTEN, Costs, Level, Traffic

MAX_PERMUTED = 4
"""Loops of which every order is tried: 24."""


@dataclass(frozen=True)
class CallLoop:
    """A loop around a call: its axis, its trip count, and whether it reduces."""

    axis: int
    count: int
    is_reduction: bool


@dataclass(frozen=True)
class Run:
    """What is touched in one go, so that hardware fetches it ahead: lines, of which few are jumped over."""

    span: int
    """Bytes from the first to behind the last."""
    nbytes: int
    """Those that are touched."""
    lines: float
    """The lines that hold these; of pieces that begin anywhere in a line, on average."""


@dataclass(frozen=True)
class Stream:
    """An operand: how it moves along the axes of a nest, in elements of `nbytes`."""

    strides: tuple[int, ...]
    dimensions: tuple[tuple[tuple[int, int], ...], ...]
    """Its index by dimension, as (axis, coefficient); a window's axes share one."""
    nbytes: int
    is_packed: bool
    """A constant, or copied before: it will lie in the order in which it is read."""
    is_late: bool
    """Read when the reduction is done, by an epilogue."""
    is_written: bool = False
    is_constant: bool = False
    """Packed, or copied with gaps between its rows where they would be too many for a set."""

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

    def run(self, points: Sequence[int], line: int) -> Run:
        """What a call touches between two jumps, in lines of `line` bytes."""
        span = dense = touched = self.nbytes
        skipping, grid = 1, line
        for stride, count in sorted(
            (abs(s) * self.nbytes, n)
            for s, n in zip(self.strides, points, strict=True)
            if s and n > 1
        ):
            if stride > span + _reach(line):
                break
            span += stride * (count - 1)
            touched = min(span, touched * count)
            if skipping > 1 or stride > max(dense, line):
                skipping *= count
            else:
                dense = span
        # Pieces begin at multiples of what all that moves them has in common.
        for stride, count in zip(self.strides, points, strict=True):
            by = abs(stride) * self.nbytes
            grid = math.gcd(grid, by if by >= dense else by * count)
        piece, whole = (
            (math.ceil(each / grid) * grid + line - grid) / line for each in (dense, span)
        )
        return Run(span, touched, min(skipping * piece, whole))

    def goes_on(self, axis: int, block: int, run: int, line: int) -> bool:
        """Whether the next call of a loop along the axis begins where the run ends."""
        return 0 < self.step(axis, block) <= run + _reach(line)

    def step(self, axis: int, block: int) -> int:
        """Bytes from one call to the next of a loop along the axis."""
        return abs(self.strides[axis]) * block * self.nbytes

    def translations(self, points: Sequence[int], machine: Machine) -> int:
        """Times that a call turns to another page: once a run of lines, and no more than there are pages."""
        page, extent, regions, nbytes = machine.tlb.page_bytes, self.nbytes, 1, self.nbytes
        for stride, count in sorted(
            (abs(s) * nbytes, n) for s, n in zip(self.strides, points, strict=True) if s and n > 1
        ):
            if stride > extent + page:
                regions *= count
            else:
                extent += stride * (count - 1)
        runs = self.touched(points) // self.run(points, machine.line_bytes).nbytes
        return min(max(1, runs), regions * math.ceil(extent / page))

    def is_crowded(
        self, points: Sequence[int], machine: Machine, cache: Cache | None = None
    ) -> bool:
        """Whether the rows of a tile do not fit into a cache (the first) together; of constants they do."""
        return not (self.is_constant or self.is_packed) and any(
            machine.crowds(count, abs(stride) * self.nbytes, cache)
            for stride, count in zip(self.strides, points, strict=True)
            if stride
        )


def _reach(line: int) -> int:
    """Bytes that a run jumps: over the border of a padded row, or to every second line."""
    return 2 * line


_Cycles = tuple[float, float]
"""Of transfers, and of stalls."""


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
    held: float
    """Bytes of the lines that hold what the call touches: what a cache has to have room for."""
    whole_held: float
    nearest: Level
    """Where it is found again at best: its runs push each other out of nearer caches."""
    translations: int


def traffic(
    streams: Sequence[Stream],
    sizes: Sequence[int],
    blocks: Sequence[int],
    loops: Sequence[CallLoop],
    costs: Costs,
) -> tuple[tuple[CallLoop, ...], Traffic]:
    """The loops, outermost first, in the order that costs least, and what memory does then.

    `sizes` are the points of the axes, `blocks` those of one call. Among equals the order is taken that
    keeps most bytes in place from call to call, then the one given.
    """
    panels = [_panel(stream, sizes, blocks, costs) for stream in streams]
    search = _Search(panels, tuple(loops), blocks, costs)
    places = range(len(loops))
    orders = permutations(places) if 1 < len(loops) <= MAX_PERMUTED else [tuple(places)]
    order = min(orders, key=lambda one: (costs.exposed(*search.cycles(one)), search.moved(one)))
    transfer, stalls = search.cycles(order)
    calls = math.prod(loop.count for loop in loops)
    stalls += calls * costs.translated(sum(panel.translations for panel in panels))
    loads = calls * sum(panel.nbytes for panel in panels) / costs.machine.l1.bandwidth
    return tuple(loops[place] for place in order), Traffic(transfer, stalls, loads)


def brought(streams: Sequence[Stream], sizes: Sequence[int], costs: Costs) -> float:
    """Cycles of bringing everything once, from where it is when a nest begins."""
    line = costs.machine.line_bytes
    touched = [stream.touched(sizes) for stream in streams]
    return sum(nbytes / line * costs.origin(nbytes).line for nbytes in touched)


def _panel(stream: Stream, sizes: Sequence[int], blocks: Sequence[int], costs: Costs) -> _Panel:
    line = costs.machine.line_bytes
    nbytes, whole = stream.touched(blocks), stream.touched(sizes)
    in_order = Run(nbytes, nbytes, math.ceil(nbytes / line))
    run = in_order if stream.is_packed else stream.run(blocks, line)
    runs = nbytes / run.nbytes
    moving = frozenset(
        axis
        for axis, (stride, size, block) in enumerate(
            zip(stream.strides, sizes, blocks, strict=True)
        )
        if stride and block < size
    )
    # What is packed at run time was written just before.
    origin = costs.far if stream.is_packed and stream.is_constant else costs.origin(whole)
    machine = costs.machine
    return _Panel(
        nbytes,
        runs * run.lines,
        runs,
        moving,
        whole,
        origin,
        stream,
        run.span,
        runs * run.lines * line,
        whole if stream.is_packed else max(whole, _lines_of(stream, sizes, line) * line),
        _nearest(stream, blocks, costs),
        1 if stream.is_packed else stream.translations(blocks, machine),
    )


def _nearest(stream: Stream, blocks: Sequence[int], costs: Costs) -> Level:
    """The nearest level of which no set has more rows of a call than ways."""
    machine = costs.machine
    if stream.is_packed or not stream.is_crowded(blocks, machine, machine.l1):
        return costs.l1
    return costs.far if stream.is_crowded(blocks, machine, machine.l2) else costs.l2


def _lines_of(stream: Stream, points: Sequence[int], line: int) -> float:
    """The lines that hold so many points of each axis."""
    run = stream.run(points, line)
    return stream.touched(points) / run.nbytes * run.lines


class _Search:
    """What orders of the same loops cost; loops are numbered, and sets of them are bits."""

    def __init__(
        self,
        panels: Sequence[_Panel],
        loops: Sequence[CallLoop],
        blocks: Sequence[int],
        costs: Costs,
    ) -> None:
        self._costs = costs
        self._line = costs.machine.line_bytes
        self._panels = panels
        self._loops = loops
        self._blocks = blocks
        self._call = costs.level(sum(panel.held for panel in panels))
        self._again: dict[tuple[int, int, int], _Cycles] = {}
        self._cycles: dict[tuple[int, ...], _Cycles] = {}
        self._broken = [self._first(panel, 1) for panel in panels]
        self._joining = [
            [at for at, panel in enumerate(panels) if self._goes_on(panel, loop, panel.run)]
            for loop in loops
        ]
        """By the innermost loop: the streams whose calls go on where the one before ended."""
        places = range(len(panels))
        self._moved = [[at for at in places if loop.axis in panels[at].axes] for loop in loops]
        self._kept = [[at for at in places if loop.axis not in panels[at].axes] for loop in loops]

    def moved(self, order: Sequence[int]) -> int:
        """Bytes that the innermost loop moves on from at each step."""
        axis = self._loops[order[-1]].axis if order else -1
        return sum(panel.nbytes for panel in self._panels if axis in panel.axes)

    def cycles(self, order: tuple[int, ...]) -> _Cycles:
        """Of bringing everything, and of coming back, for loops in this order, outermost first."""
        if order not in self._cycles:
            joining = self._joining[order[-1]] if order else []
            transfer = stalls = 0.0
            for at, panel in enumerate(self._panels):
                first = self._joined(panel, order) if at in joining else self._broken[at]
                transfer += first[0]
                stalls += first[1]
            inside, outer = (1 << len(order)) - 1, 1
            for place in order:
                count = self._loops[place].count
                inside &= ~(1 << place)
                key = place, inside, order[-1]
                again = self._again.get(key)
                if again is None:
                    again = self._again[key] = self._of_coming_back(*key)
                transfer += outer * (count - 1) * again[0]
                stalls += outer * (count - 1) * again[1]
                outer *= count
            self._cycles[order] = transfer, stalls
        return self._cycles[order]

    def _of_coming_back(self, place: int, inside: int, last: int) -> _Cycles:
        """A step of a loop, with those loops inside, `last` innermost, for what it does not move."""
        panels = self._panels
        joining = self._joining[last] if inside >> last & 1 else []
        moving = [1] * len(panels)
        for loop, moved in zip(self._loops, self._moved, strict=True):
            if inside & 1:
                for at in moved:
                    moving[at] *= loop.count
            inside >>= 1
        passed = 0.0
        for panel, count in zip(panels, moving, strict=True):
            passed += min(panel.whole_held, panel.held * count)
        between, transfer, stalls = self._costs.level(passed), 0.0, 0.0
        for at in self._kept[place]:
            panel, count = panels[at], moving[at]
            where = self._call if count == 1 else between
            where = max(where, panel.nearest, key=lambda level: level.line)
            hidden = PREFETCHED if panel.stream.is_packed else 1.0
            transfer += count * panel.lines * where.line * hidden
            begun = count / self._loops[last].count if at in joining else count
            stalls += begun * panel.runs * where.run * hidden
        return transfer, stalls

    def _joined(self, panel: _Panel, order: Sequence[int]) -> _Cycles:
        """Of bringing all of a stream once, where calls go on where the one before ended.

        What other loops bring of the same lines is another time: one that begins within what the inner
        ones have brought finds it only where the first-level cache holds that.
        """
        joined, run, points = 1, panel.run, list(self._blocks)
        for place in reversed(order):
            loop = self._loops[place]
            if not self._goes_on(panel, loop, run):
                break
            step = panel.stream.step(loop.axis, self._blocks[loop.axis])
            if 2 * step < run and run > self._costs.machine.l1.bytes:
                break
            joined *= loop.count
            points[loop.axis] *= loop.count
            run += step * (loop.count - 1)
        return self._first(panel, joined, points)

    def _goes_on(self, panel: _Panel, loop: CallLoop, run: int) -> bool:
        return not panel.stream.is_packed and panel.stream.goes_on(
            loop.axis, self._blocks[loop.axis], run, self._line
        )

    def _first(self, panel: _Panel, joined: int, points: Sequence[int] = ()) -> _Cycles:
        """Of bringing all of a stream once, `joined` calls of it in one run, which have so many points."""
        origin = panel.origin
        if panel.stream.is_packed:
            return panel.whole / self._line * origin.line, 0.0
        calls = panel.whole / panel.nbytes
        lines = touched = calls * panel.lines
        if joined > 1:
            several = _lines_of(panel.stream, points, self._line)
            lines = min(touched, calls / joined * several)
        # Nobody waits for what is written, and an epilogue's operand is prefetched during the reduction.
        cold = WRITTEN if panel.stream.is_written or panel.stream.is_late else 1.0
        stalls = calls * panel.runs * origin.run + lines / joined * origin.begin * cold
        # Calls that go on within the same lines find them where the one before left them.
        again = (touched - lines) * self._costs.level(panel.lines * self._line).line
        return lines * origin.line + again, stalls
