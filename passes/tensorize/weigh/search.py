"""The ways to do a nest by a kernel: which assignments and members are worth planning, the cheapest first.

A plan (`weigh/candidates.py`) solves for every operand. Before that, a lower bound is cheap: the cycles of
the calls, and what must be copied in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from inarch.passes.tensorize.unify.linear import LinearNest, is_constant, nbytes_of
from inarch.passes.tensorize.unify.match import Miss, bindings, matches
from inarch.passes.tensorize.weigh.candidates import (
    Candidate,
    Start,
    kernel_cycles,
    loops_of,
    plan_nest,
    start_of,
    streams_of,
)
from inarch.passes.tensorize.weigh.cost import CROWDED, PIECE, Costs
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.operands import Matched
from inarch.passes.tensorize.weigh.tiles import Cutter, Params, Piece
from inarch.passes.tensorize.weigh.traffic import Stream, traffic

MAX_SHOWN = 8
"""Candidates of a kernel that are kept for the report."""
MAX_WAYS = 6
"""Assignments that are tried at all."""
MAX_FIRST = 1
"""Members that each assignment is tried with at first."""
MAX_ASSIGNMENTS = 2
"""Assignments that are then tried with `MAX_MEMBERS`."""
MAX_MEMBERS = 20
"""Of a family, the most efficient ones that fit."""
MAX_WEIGHED = 12
"""Of those, the ones for which loops are ordered, and the memory is looked at."""


def candidates(nest: LinearNest, family: Family) -> list[Candidate] | Miss:
    """The ways to do `nest` by the family, the cheapest first; or the first difference."""
    pattern = family.pattern
    if not family.members:
        missing = sorted(set(pattern.kernel.needs) - family.target.features)
        needs = f"it needs {', '.join(missing)}" if missing else "no member meets its constraints"
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
    found = _cheapest(ways, family, misses)
    if found:
        return sorted(found, key=lambda one: (one.cost, one.scattered))[:MAX_SHOWN]
    return max(misses, key=lambda miss: miss.progress)  # the first of those that got furthest


def sweep(nest: LinearNest, family: Family, chosen: Candidate, count: int) -> list[Candidate]:
    """Up to `count` others with the assignment of `chosen`, by cost: how good the choice is, can be measured.

    The tiles that the model thinks best, and each of the first few in the other direction of its loops.
    """
    rough = sorted(_rough(chosen.matched, family, [], MAX_MEMBERS), key=lambda one: one.bound)
    streams = streams_of(chosen.matched)
    weighed = sorted(
        (_with_memory(one, streams, family.costs) for one in rough), key=lambda one: one.bound
    )
    turned = [replace(one, order=_turned(nest, one.order)) for one in weighed[: count // 3]]
    known = {(tuple(chosen.params.values()), _loops(nest, chosen.order))}
    found: list[Candidate] = []
    for one in [*turned, *weighed]:
        key = tuple(one.params.values()), _loops(nest, one.order)
        if key in known or len(found) == count:
            continue
        known.add(key)
        cycles = one.kernels + one.memory
        candidate = plan_nest(
            one.matched, family, one.params, one.pieces, one.start, one.order, cycles
        )
        if not isinstance(candidate, str):
            found.append(candidate)
    return found


def _loops(nest: LinearNest, order: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis for axis in order if not nest.axes[axis].is_reduction)


def _turned(nest: LinearNest, order: Sequence[int]) -> tuple[int, ...]:
    """The outermost parallel loop becomes the innermost one."""
    parallel = _loops(nest, order)
    rest = tuple(axis for axis in order if nest.axes[axis].is_reduction)
    return (*parallel[1:], *parallel[:1], *rest)


@dataclass(frozen=True)
class _Rough:
    """A candidate before its operands are solved for."""

    matched: Matched
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

    @property
    def bound(self) -> float:
        """It costs at least so much."""
        return self.kernels + self.copies + self.memory


def _cheapest(ways: Sequence[Matched], family: Family, misses: list[Miss]) -> list[Candidate]:
    """Candidates of `ways`, planned in the order of their bounds until none can be cheaper.

    Those that copy least and whose calls do most come first. Each is tried with the members that are
    most efficient by themselves; all members are tried for those that then look best.
    """
    points = math.prod(axis.size for axis in ways[0].nest.axes) if ways else 0
    least = {id(one): family.costs.copy(_least_copies(one)) for one in ways}
    in_order = sorted(ways, key=lambda one: (least[id(one)], -_covered(one)))
    useful = [one for one in in_order if not _is_idle(one, family)]
    in_order = (useful or in_order)[:MAX_WAYS]
    first: list[_Rough] = []
    best = math.inf
    for matched in in_order:
        if points * family.best_cycles_a_point + least[id(matched)] <= best:
            some = _weighed(_rough(matched, family, misses, MAX_FIRST), family.costs)
            best = min([best, *(one.bound for one in some)])
            first += some
    first.sort(key=lambda one: one.bound)
    likely = list({id(one.matched): one.matched for one in first}.values())[:MAX_ASSIGNMENTS]
    rough = [one for each in likely for one in _rough(each, family, misses, MAX_MEMBERS)]
    rough = _weighed(sorted(rough, key=lambda one: one.bound)[:MAX_WEIGHED], family.costs)
    rough.sort(key=lambda one: one.bound)
    found: list[Candidate] = []
    best = math.inf
    for one in [*rough, *first]:
        if one.bound > best or len(found) == MAX_SHOWN:
            break
        candidate = plan_nest(
            one.matched,
            family,
            one.params,
            one.pieces,
            one.start,
            one.order,
            one.kernels + one.memory,
        )
        if isinstance(candidate, str):
            misses.append(Miss(candidate, 3))
            continue
        found.append(candidate)
        best = min(best, candidate.cost)
    return found


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


def _weighed(rough: Iterable[_Rough], costs: Costs) -> list[_Rough]:
    """With what the memory adds; without those that cost more than the best of those before anyway."""
    found: list[_Rough] = []
    best = math.inf
    streams: dict[int, list[Stream]] = {}
    for one in rough:
        if one.bound > best:
            continue
        if id(one.matched) not in streams:
            streams[id(one.matched)] = streams_of(one.matched)
        weighed = _with_memory(one, streams[id(one.matched)], costs)
        best = min(best, weighed.bound)
        found.append(weighed)
    return found


def _with_memory(rough: _Rough, streams: Sequence[Stream], costs: Costs) -> _Rough:
    axes, main = rough.matched.nest.axes, rough.pieces[0]
    blocks = [min(cut.block, axis.size) for cut, axis in zip(main.cuts, axes, strict=True)]
    sizes = [cut.count * block for cut, block in zip(main.cuts, blocks, strict=True)]
    order, memory = traffic(streams, sizes, blocks, loops_of(rough.matched.nest, main), costs)
    memory *= math.prod(axis.size for axis in axes) / math.prod(sizes)
    rows = [1 if axis.is_reduction else n for axis, n in zip(axes, blocks, strict=True)]
    if any(stream.is_crowded(rows, costs.machine) for stream in streams if not stream.is_late):
        memory += CROWDED * rough.kernels
    given = [loop.axis for loop in order]
    rest = [axis for axis in range(len(axes)) if axis not in given]
    return replace(rough, order=(*given, *rest), memory=memory)


def _rough(matched: Matched, family: Family, misses: list[Miss], members: int) -> Iterator[_Rough]:
    """The most efficient `members` that the nest can be cut for."""
    cutter = Cutter(
        family.pattern, family.is_member, family.allowed, matched.nest, matched.assignment
    )
    least = _least_copies(matched)
    count = 0
    possible = dict(cutter.possible)
    for name, value in _factors(matched):
        possible[name] = possible.get(name, frozenset({value})) & {value}
    fitting = family.fitting(possible)
    # Where none fits, the first one says why.
    for params in chain([next(fitting, family.by_efficiency[0])], fitting):
        pieces = cutter.cut(params)
        if isinstance(pieces, str):
            misses.append(Miss(pieces, 3))
            continue
        start = start_of(matched, pieces)
        if isinstance(start, str):
            misses.append(Miss(start, 4))
            continue
        copies = least + sum(_over_copies(matched, piece) for piece in pieces)
        copies += _nest_bytes(matched, start)
        cycles = sum(kernel_cycles(family, piece, start.init) for piece in pieces)
        cycles *= 1 + PIECE * (len(pieces) - 1)
        yield _Rough(matched, params, pieces, start, cycles, family.costs.copy(copies))
        count += 1
        if count == members:
            return


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


def _nest_bytes(matched: Matched, start: Start) -> float:
    """Bytes of the nests before and after that split reductions need."""
    finishes = start.is_split and matched.nest.nest.finish is not None
    if not start.fills and not finishes:
        return 0.0
    moved = zip(matched.nest.axes, matched.nest.write.strides, strict=True)
    points = math.prod(axis.size for axis, stride in moved if stride)
    return nbytes_of(matched.nest.write) * points * (start.fills + 2 * finishes)


def _over_copies(matched: Matched, piece: Piece) -> float:
    """Bytes that are copied because tiles run over the edge."""
    if not piece.overruns:
        return 0.0
    total = 0.0
    cuts = zip(matched.nest.axes, piece.cuts, strict=True)
    is_first = not any(axis.is_reduction and cut.start for axis, cut in cuts)  # of its group
    for operand, elements in matched.pattern.elements.items():
        access = matched.access_of(elements[0])
        is_output = operand == matched.pattern.output
        if (not is_first) if is_output else is_constant(access.buffer):
            continue
        moved = [cut for cut, by in zip(piece.cuts, access.strides, strict=True) if by]
        if any(cut.overrun for cut in moved):
            total += 2 * nbytes_of(access) * math.prod(cut.block * cut.count for cut in moved)
    return total


def _least_copies(matched: Matched) -> float:
    """Bytes that are copied whatever the tiles are: of operands whose stride 1 is demanded elsewhere."""
    total = 0.0
    pattern = matched.pattern
    for operand, elements in pattern.elements.items():
        access = matched.access_of(elements[0])
        if operand != pattern.output and is_constant(access.buffer):
            continue
        for index, demanded in zip(
            elements[0].indices, pattern.kernel.layout.get(operand, ()), strict=False
        ):
            if demanded != 1 or len(index) != 1 or index[0].factors or index[0].iterator is None:
                continue
            axis = matched.assignment.axis_of(index[0].iterator)
            if axis is None or matched.assignment.taken[axis][-1] != index[0].iterator:
                continue
            if access.strides[axis] != 1:
                moved = zip(matched.nest.axes, access.strides, strict=True)
                total += 2 * nbytes_of(access) * math.prod(a.size for a, stride in moved if stride)
                break
    return total
