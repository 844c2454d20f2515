"""The bytes that a way to do a nest copies in any case, before its operands are solved for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inarch.passes.tensorize.weigh.candidates import Start
from inarch.passes.tensorize.weigh.operands import Matched
from inarch.passes.tensorize.weigh.tiles import Piece

Contiguous = tuple[frozenset[str], Sequence[int], float]
"""Of an operand: iterators along which it must lie in order, its strides by axis, the bytes of a copy."""


def nest_bytes(matched: Matched, start: Start) -> float:
    """Bytes of the nests before and after that split reductions need."""
    finishes = start.is_split and matched.nest.nest.finish is not None
    if not start.fills and not finishes:
        return 0.0
    moved = zip(matched.nest.axes, matched.nest.write.strides, strict=True)
    points = math.prod(axis.size for axis, stride in moved if stride)
    return matched.nest.write.nbytes * points * (start.fills + 2 * finishes)


def over_copies(matched: Matched, piece: Piece) -> float:
    """Bytes that are copied because tiles run over the edge."""
    if not piece.overruns:
        return 0.0
    total = 0.0
    cuts = zip(matched.nest.axes, piece.cuts, strict=True)
    is_first = not any(axis.is_reduction and cut.start for axis, cut in cuts)  # of its group
    for operand, elements in matched.pattern.elements.items():
        access = matched.access_of(elements[0])
        is_output = operand == matched.pattern.output
        if (not is_first) if is_output else access.is_constant:
            continue
        moved = [cut for cut, by in zip(piece.cuts, access.strides, strict=True) if by]
        if any(cut.overrun for cut in moved):
            points = math.prod(cut.block * cut.count for cut in moved)
            total += 2 * access.nbytes * points / (1 if is_output else access.iterations)
    return total


def contiguous(matched: Matched) -> list[Contiguous]:
    """The operands whose stride 1 is demanded; constants are packed for nothing."""
    found: list[Contiguous] = []
    pattern, axes = matched.pattern, matched.nest.axes
    for operand, elements in pattern.elements.items():
        access = matched.access_of(elements[0])
        if operand != pattern.output and access.is_constant:
            continue
        demands = pattern.kernel.layout.get(operand, ())
        iterators = frozenset(
            index[0].iterator
            for index, demanded in zip(elements[0].indices, demands, strict=False)
            if demanded == 1 and len(index) == 1 and not index[0].factors
            if index[0].iterator is not None
        )
        moved = [axis.size for axis, by in zip(axes, access.strides, strict=True) if by]
        once = 1 if operand == pattern.output else access.iterations
        found.append((iterators, access.strides, 2 * access.nbytes * math.prod(moved) / once))
    return found


def least_copies(demanded: Sequence[Contiguous], matched: Matched) -> float:
    """Bytes of operands that do not lie in order along the axis of an iterator that demands it."""
    taken = matched.assignment.taken
    return sum(
        nbytes
        for iterators, strides, nbytes in demanded
        if any(
            by != 1 and names and names[-1] in iterators
            for by, names in zip(strides, taken, strict=True)
        )
    )
