"""The ways to do a nest by a kernel: which assignments and members are worth planning, the cheapest first.

A plan (`weigh/candidates.py`) solves for every operand. Before that, a lower bound is cheap: the cycles of
the calls, and what must be copied in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from inarch.core.once import cached_property
from inarch.passes.tensorize.unify.iterators import contiguous_iterators
from inarch.passes.tensorize.unify.match import Miss, bindings, matches
from inarch.passes.tensorize.unify.strided import StridedNest
from inarch.passes.tensorize.weigh.candidates import (
    Candidate,
    Start,
    copied_inputs,
    cutter_of,
    is_split,
    kernel_cycles,
    loops_of,
    plan_nest,
    start_of,
    streams_of,
)
from inarch.passes.tensorize.weigh.copies import (
    Contiguous,
    contiguous,
    least_copies,
    nest_bytes,
    over_copies,
)
from inarch.passes.tensorize.weigh.cost import CROWDED, PIECE, Traffic
from inarch.passes.tensorize.weigh.family import FLUSHES, Family
from inarch.passes.tensorize.weigh.operands import Matched
from inarch.passes.tensorize.weigh.tiles import Cutter, Params, Piece
from inarch.passes.tensorize.weigh.traffic import Stream, traffic

_Memory = tuple[tuple[int, ...], Traffic, bool, int]
"""Axes in the best order of loops, what memory does, whether a tile's rows share a set, bytes of copies."""

MAX_SHOWN = 8
"""Candidates of a kernel that are kept for the report."""
MAX_WAYS = 6
"""Assignments that are tried."""
MAX_LOOKED_AT = 48
"""Assignments that are tried for a kernel that is wanted, until the nest can be cut for one of them."""
MAX_FIRST = 1
"""Members that each assignment is tried with at first."""
MAX_ASSIGNMENTS = 2
"""Assignments that are then tried with `MAX_MEMBERS`."""
MAX_MEMBERS = 20
"""Of a family, the most efficient ones that fit."""
FAR = 1.5
"""Where the first members cost so many times what another kernel does, no other member is tried."""


def candidates(
    nest: StridedNest, family: Family, known: float = math.inf
) -> list[Candidate] | Miss:
    """The ways to do `nest` by the family, the cheapest first; or the first difference.

    Of a family that is far from `known`, the cycles of another one's way, only some are found.
    """
    pattern = family.pattern
    if not family.members:
        missing = sorted(set(pattern.kernel.needs) - family.target.features)
        needs = f"it needs {', '.join(missing)}" if missing else "no member meets its constraints"
        if pattern.kernel.flushes and not missing:
            return Miss(FLUSHES, 0)
        return Miss(f"{needs} on target '{family.target}'", 0)
    bound = bindings(nest, pattern)
    if isinstance(bound, Miss):
        return bound
    misses: list[Miss] = []
    ways: list[Matched] = []
    for binding in bound:
        some = matches(nest, pattern, binding)
        if isinstance(some, Miss):
            misses.append(some)
        else:
            ways += some
    found = _cheapest(ways, family, misses, known)
    if found:
        return sorted(found, key=lambda one: (one.cost, one.scattered))[:MAX_SHOWN]
    return max(misses, key=lambda miss: miss.progress)  # the first of those that got furthest


def sweep(nest: StridedNest, family: Family, chosen: Candidate, count: int) -> list[Candidate]:
    """Up to `count` others with the assignment of `chosen`, by cost: how good the choice is, can be measured.

    The tiles that the model thinks best, and each of the first few in the other direction of its loops.
    """
    way = _Way(chosen.matched, family, contiguous(chosen.matched))
    rough = sorted(_rough(way, [], MAX_MEMBERS), key=lambda one: one.bound)
    weighed = sorted(map(_with_memory, rough), key=lambda one: one.bound)
    turned = [replace(one, order=_turned(nest, one.order)) for one in weighed[: count // 3]]
    known = {(tuple(chosen.params.values()), _loops(nest, chosen.order))}
    found: list[Candidate] = []
    for one in [*turned, *weighed]:
        key = tuple(one.params.values()), _loops(nest, one.order)
        if key in known or len(found) == count:
            continue
        known.add(key)
        candidate = one.planned()
        if not isinstance(candidate, str):
            found.append(candidate)
    return found


def _loops(nest: StridedNest, order: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis for axis in order if not nest.axes[axis].is_reduction)


def _turned(nest: StridedNest, order: Sequence[int]) -> tuple[int, ...]:
    """The outermost parallel loop becomes the innermost one."""
    parallel = _loops(nest, order)
    rest = tuple(axis for axis in order if nest.axes[axis].is_reduction)
    return (*parallel[1:], *parallel[:1], *rest)


class _Way:
    """An assignment, and what is worked out of it once, whatever the member."""

    def __init__(self, matched: Matched, family: Family, demanded: Sequence[Contiguous]) -> None:
        self.matched = matched
        self.family = family
        self.least = least_copies(demanded, matched)
        """Bytes that are copied whatever the tiles are."""
        self._starts: dict[bool, Start | str] = {}

    @cached_property
    def cutter(self) -> Cutter:
        """Cuts the nest for members."""
        return cutter_of(self.matched, self.family)

    @cached_property
    def possible(self) -> dict[str, frozenset[int]]:
        """Parameter -> the values that it can have."""
        found = dict(self.cutter.possible)
        for name, value in _factors(self.matched):
            found[name] = found.get(name, frozenset({value})) & {value}
        for name, values in _lanes(self.matched, self.family):
            found[name] = found.get(name, values) & values
        return found

    @cached_property
    def passing(self) -> frozenset[int]:
        """The axes whose points a call does not hold together: what it sums over, or takes one by one.

        No register tile has a size that the call gives.
        """
        given = {name for _, name in self.family.pattern.given}
        taken = zip(self.matched.nest.axes, self.matched.assignment.taken, strict=True)
        pairs = enumerate(taken)
        return frozenset(at for at, (axis, names) in pairs if axis.is_reduction or given & {*names})

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The operands as memory sees them."""
        return tuple(streams_of(self.matched))

    @cached_property
    def memory(self) -> dict[object, _Memory]:
        """What is known of loops around calls, by tiles and counts: other kernels have the same tiles."""
        key = _memory, self.family.machine, self.streams
        return self.matched.nest.derived.setdefault(key, {})

    def start(self, pieces: Sequence[Piece]) -> Start | str:
        """The init variant, or why there is none."""
        split = is_split(self.matched.nest, pieces)
        if split not in self._starts:
            self._starts[split] = start_of(self.matched, split=split)
        return self._starts[split]


@dataclass(frozen=True)
class _Rough:
    """A candidate before its operands are solved for."""

    way: _Way
    params: Params
    pieces: list[Piece]
    start: Start
    kernels: float
    """Cycles of the calls."""
    copies: float
    """Cycles of the copies that are needed in any case."""
    order: tuple[int, ...] = ()
    memory: float = 0.0
    """Cycles that the memory adds for loops in this order."""
    crowding: float = 0.0
    """Those of them that another tile may not have: its rows share a set of the first-level cache."""

    @property
    def matched(self) -> Matched:
        """The nest and the kernel, with axes for the iterators."""
        return self.way.matched

    @property
    def bound(self) -> float:
        """It costs at least so much."""
        return self.kernels + self.copies + self.memory

    def planned(self) -> Candidate | str:
        """With its operands; a reason where one does not fit."""
        cycles = self.kernels + self.memory
        return plan_nest(
            self.matched, self.way.family, self.params, self.pieces, self.start, self.order, cycles
        )


def _cheapest(
    found: Sequence[Matched], family: Family, misses: list[Miss], known: float
) -> list[Candidate]:
    """Candidates of the ways `found`, planned in the order of their bounds until none can be cheaper.

    Those that copy least and whose calls do most come first. Each is tried with the members that are
    most efficient by themselves; all members are tried for those that then look best.
    """
    if not found:
        return []
    nest = found[0].nest
    points = math.prod(axis.size for axis in nest.axes)
    demanded = {id(one.binding): one for one in reversed(found)}
    in_line = {binding: contiguous(one) for binding, one in demanded.items()}
    ways = [_Way(one, family, in_line[id(one.binding)]) for one in found]
    in_order = sorted(ways, key=lambda one: (one.least, -_covered(one.matched)))
    useful = [one for one in in_order if not _is_idle(one.matched, family)]
    first: list[_Rough] = []
    best = math.inf
    left: Iterator[_Way] = iter((useful or in_order)[:MAX_LOOKED_AT])
    for number, way in enumerate(left):
        # Where no other kernel is known to do it, what cannot be cut is no reason to give up.
        if number >= MAX_WAYS and (first or known < math.inf):
            left = chain([way], left)
            break
        least = points * family.best_cycles_a_point + family.costs.copy(way.least)
        if not first or least <= min(best, known):
            some = _weighed(_rough(way, misses, MAX_FIRST))
            best = min([best, *(one.bound for one in some)])
            first += some
    hopeful = sorted(first, key=lambda one: one.bound - one.crowding)
    likely = list(dict.fromkeys(one.way for one in hopeful))[:MAX_ASSIGNMENTS]
    first.sort(key=lambda one: one.bound)
    members = MAX_MEMBERS if best <= FAR * known else 0
    rough = [one for each in likely for one in _rough(each, misses, members)]
    rough = _weighed(sorted(rough, key=lambda one: one.bound))
    rough.sort(key=lambda one: one.bound)
    planned: list[Candidate] = []
    best = math.inf
    for one in [*rough, *first]:
        if one.bound > best or len(planned) == MAX_SHOWN:
            break
        candidate = one.planned()
        if isinstance(candidate, str):
            misses.append(Miss(candidate, 3))
            continue
        planned.append(candidate)
        best = min(best, candidate.cost)
    if first and not planned and known == math.inf:
        # What can be cut, and has no strides that its operands could be copied to, is no reason either.
        return _cheapest([one.matched for one in left], family, misses, known)
    return planned


def _covered(matched: Matched) -> int:
    """The points of the axes that some iterator takes, reductions counted twice."""
    pairs = zip(matched.nest.axes, matched.assignment.taken, strict=True)
    return math.prod(a.size ** (1 + a.is_reduction) for a, names in pairs if names)


def _is_idle(matched: Matched, family: Family) -> bool:
    """Whether an iterator has a part of an axis that is as large as one tile of what stands inside."""
    sizes = {each.name: each.size for each in matched.pattern.iterators}
    return any(
        len(names) > 1 and axis.size < 2 * family.smallest(sizes[names[-1]])
        for axis, names in zip(matched.nest.axes, matched.assignment.taken, strict=True)
    )


def _weighed(rough: Iterable[_Rough]) -> list[_Rough]:
    """With what the memory adds; without those that cost more than the best of those before anyway."""
    found: list[_Rough] = []
    best = math.inf
    for one in rough:
        if one.bound > best:
            continue
        weighed = _with_memory(one)
        best = min(best, weighed.bound)
        found.append(weighed)
    return found


def _with_memory(rough: _Rough) -> _Rough:
    axes, main, way = rough.matched.nest.axes, rough.pieces[0], rough.way
    costs = way.family.costs
    blocks = tuple([min(cut.block, axis.size) for cut, axis in zip(main.cuts, axes, strict=True)])
    counts = tuple([cut.count for cut in main.cuts])
    copied = copied_inputs(way.streams, rough.matched, way.family, main)
    tile = tuple([1 if axis in way.passing else n for axis, n in enumerate(blocks)])
    key = blocks, counts, copied, tile
    if key not in way.memory:
        way.memory[key] = _memory(way, main, blocks, copied, tile)
    order, moved, is_crowded, nbytes = way.memory[key]
    crowding = CROWDED * rough.kernels if is_crowded else 0.0
    memory = costs.added(rough.kernels, moved) + crowding
    if not way.family.is_stated and _touched(way.streams, blocks) > costs.machine.l2.bytes:
        memory = crowding = 0.0  # what such a call takes was measured with all that it brings
    copies = max(rough.copies, costs.copy(nbytes))
    return replace(rough, order=order, copies=copies, memory=memory, crowding=crowding)


def _touched(streams: Iterable[Stream], blocks: Sequence[int]) -> int:
    """Bytes that one call reads and writes."""
    return sum(
        stream.nbytes * math.prod([n for n, by in zip(blocks, stream.strides, strict=True) if by])
        for stream in streams
    )


def _memory(
    way: _Way, main: Piece, blocks: Sequence[int], copied: Sequence[int], tile: Sequence[int]
) -> _Memory:
    nest, costs = way.matched.nest, way.family.costs
    axes, streams, nbytes = nest.axes, list(way.streams), 0
    for at in copied:
        pairs = zip(axes, streams[at].strides, strict=True)
        nbytes += 2 * streams[at].nbytes * math.prod([axis.size for axis, by in pairs if by])
        streams[at] = replace(streams[at], is_packed=True)
    sizes = [cut.count * block for cut, block in zip(main.cuts, blocks, strict=True)]
    order, moved = traffic(streams, sizes, blocks, loops_of(nest, main), costs)
    parts = math.prod([axis.size for axis in axes]) / math.prod(sizes)
    is_crowded = any(
        stream.is_crowded(tile, costs.machine) for stream in streams if not stream.is_late
    )
    given = [loop.axis for loop in order]
    rest = [axis for axis in range(len(axes)) if axis not in given]
    return (*given, *rest), moved.times(parts), is_crowded, nbytes


def _rough(way: _Way, misses: list[Miss], members: int) -> Iterator[_Rough]:
    """The most efficient `members` that the nest can be cut for."""
    matched, family = way.matched, way.family
    count = 0
    fitting = iter(family.fitting(way.possible))
    # Where none fits, the first one says why.
    for params in chain([next(fitting, family.by_efficiency[0])], fitting):
        if count == members:
            return
        pieces = way.cutter.cut(params)
        if isinstance(pieces, str):
            misses.append(Miss(pieces, 3))
            continue
        start = way.start(pieces)
        if isinstance(start, str):
            misses.append(Miss(start, 4))
            continue
        copies = way.least + sum([over_copies(matched, piece) for piece in pieces])
        copies += nest_bytes(matched, start)
        cycles = sum([kernel_cycles(family, piece, start.init) for piece in pieces])
        cycles *= 1 + PIECE * (len(pieces) - 1)
        yield _Rough(way, params, pieces, start, cycles, way.family.costs.copy(copies))
        count += 1


def _lanes(matched: Matched, family: Family) -> Iterator[tuple[str, frozenset[int]]]:
    """The parameter that is a vector's lanes: all of the target's, fewer where half of them would idle.

    An axis of several vectors idles in the last one only.
    """
    pattern, assigned = matched.pattern, matched.assignment
    for name in contiguous_iterators(pattern):
        size = next(each.size for each in pattern.iterators if each.name == name)
        number = assigned.axis_of(name)
        if number is None or not isinstance(size, str) or pattern.is_free(size):
            continue
        values = {member[size] for member in family.members}
        lanes, points = max(values), matched.nest.axes[number].size
        if lanes * matched.nest.write.nbytes != family.target.vector_bytes:
            continue
        if points % lanes == 0 or points >= 2 * lanes:
            yield size, frozenset({lanes})
        else:
            yield size, frozenset(v for v in values if v <= points or v == min(values))


def _factors(matched: Matched) -> Iterator[tuple[str, int]]:
    """The steps of windows that are parameters: of `p * SH + r` what `p` moves by, in moves of `r`."""
    pattern = matched.pattern
    for elements in pattern.elements.values():
        access = matched.access_of(elements[0])
        for index in elements[0].indices:
            moves = [
                (term, access.strides[axis])
                for term in index
                if term.iterator is not None
                and (axis := matched.assignment.axis_of(term.iterator)) is not None
                and len(matched.assignment.taken[axis]) == 1
            ]
            unit = next((by for term, by in moves if not term.factors), 0)
            for term, by in moves:
                (factor,) = term.factors if len(term.factors) == 1 else (0,)
                if isinstance(factor, str) and factor in pattern.kernel.params and unit:
                    yield factor, by // unit if by % unit == 0 else 0
