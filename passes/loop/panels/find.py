"""Which packed copies fall into panels: one for each iteration of the outermost loop of their calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp, root
from inarch.dialects.loop.footprint import (
    Form,
    Touching,
    iterations_apart,
    may_meet,
    place_of,
)
from inarch.dialects.loop.memory import buffer_shape, memref_of, strides_of
from inarch.ir.index.linear import linear_map
from inarch.passes.loop.nests.uses import written_buffers

_APART = (AllocOp, ConstantOp, ReshapeOp, memref.SubviewOp)
"""Ops that touch no element."""


@dataclass(frozen=True)
class Panels:
    """A pack, and the calls that read it, in order."""

    pack: PackOp
    calls: tuple[CallOp, ...]
    place: CallOp
    """The call before which all of them may run."""
    count: int
    """How many panels."""
    extents: tuple[int, ...]
    """Of the part of the source that a panel is packed from."""
    factors: tuple[int, ...]
    """By how much that part moves from panel to panel, a dimension of the source."""
    moves: tuple[Mapping[int, tuple[int, int]], ...]
    """Of each call: operand that moves with the panel -> its dimension that does, and by how much."""


def panels_of(pack: PackOp, symbols: Mapping[str, Operation]) -> Panels | None:
    """How to pack by panels; None where a panel is not all that an iteration reads, or order would change."""
    shape, buffer = buffer_shape(pack.dst), pack.dst
    calls = _readers(pack)
    if len(shape) < 2 or shape[0] < 2 or calls is None:
        return None
    part = _part(pack)
    if part is None:
        return None
    count, size = shape[0], math.prod(shape[1:])
    moves: list[Mapping[int, tuple[int, int]]] = []
    for call in calls:
        definition = symbols.get(call.callee.root_reference.data)
        if not isinstance(definition, DefOp):
            return None
        if not _is_by_panels(call, definition, buffer, count, size):
            return None
        found = _moves(call, buffer, count)
        if found is None:
            return None
        moves.append(found)
    place = _meeting_point(pack, calls, symbols)
    return None if place is None else Panels(pack, tuple(calls), place, count, *part, tuple(moves))


def _readers(pack: PackOp) -> list[CallOp] | None:
    """The calls that read what is packed, all that uses it, behind the pack in its block."""
    alloc = pack.dst.owner
    if not isinstance(alloc, AllocOp) or alloc.parent is not pack.parent:
        return None
    users = {use.operation for use in pack.dst.uses} - {pack}
    found = [op for op in _behind(pack) if op in users]
    if not found or len(found) != len(users):
        return None
    calls = [op for op in found if isinstance(op, CallOp)]
    return calls if len(calls) == len(found) else None


def _behind(op: Operation) -> Iterator[Operation]:
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


def _part(pack: PackOp) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Extents and factors of `Panels`; None where a panel reads outside of the source, or backwards."""
    source, shape = buffer_shape(pack.src), buffer_shape(pack.dst)
    extents: list[int] = []
    factors: list[int] = []
    for form, size in zip(linear_map(pack.map.data), source, strict=True):
        low, high = form.bounds(shape)
        if low < 0 or high >= size or form.coefficients[0] < 0:
            return None
        factors.append(form.coefficients[0])
        extents.append(high - form.coefficients[0] * (shape[0] - 1) + 1 if factors[-1] else size)
    return tuple(extents), tuple(factors)


def _is_by_panels(call: CallOp, definition: DefOp, buffer: SSAValue, count: int, size: int) -> bool:
    """Whether iteration i of the outermost loop reads elements of panel i only, and writes none."""
    at = [position for position, value in enumerate(call.arguments) if value is buffer]
    if len(at) != 1 or definition.arguments.data[at[0]].access.data != "read":
        return False
    if not call.trip_counts or call.trip_counts[0] != count or call.iterators.data[0].is_reduction:
        return False
    # In the first and in the last iteration it reads what is in the buffer (C6): in each what is in a panel.
    return call.offset_of(at[0])[0][0] == size


def _moves(call: CallOp, buffer: SSAValue, count: int) -> Mapping[int, tuple[int, int]] | None:
    """An entry of `Panels.moves`; None where an operand does not move along one of its dimensions."""
    found: dict[int, tuple[int, int]] = {}
    for position, value in enumerate(call.arguments):
        step = call.offset_of(position)[0][0]
        if value is buffer or not step:
            continue
        strides, shape = strides_of(memref_of(value)), buffer_shape(value)
        fitting = [
            (axis, step // stride)
            for axis, (stride, size) in enumerate(zip(strides, shape, strict=True))
            if stride > 0 and step % stride == 0 and 0 < step // stride * (count - 1) < size
        ]
        if not fitting:
            return None
        found[position] = fitting[0]
    return found


def _meeting_point(
    pack: PackOp, calls: Sequence[CallOp], symbols: Mapping[str, Operation]
) -> CallOp | None:
    """The last or the first call, where all may run, a panel of each after another; None: at neither.

    Nothing between may touch what the calls that move past it touch, where one of both writes; nor may two
    calls in different iterations.
    """
    source = root(pack.src)
    if any(root(value) is source for call in calls for value in written_buffers(call, symbols)):
        return None
    if any(_meet(a, b, symbols, by_turns=True) for a, b in combinations(calls, 2)):
        return None
    before: list[Operation] = [pack]
    between: list[Operation] = []
    is_last, is_first = True, True
    for op in _behind(pack):
        if op in calls:
            made = {value.owner for value in op.operands}
            is_first = is_first and made.isdisjoint(between) and not _meets(op, between, symbols)
            before.append(op)
            if op is calls[-1]:
                break
            continue
        if not isinstance(op, (Touching, *_APART)):
            return None
        meets = _meets(op, before, symbols)
        if len(before) > 1:
            is_last = is_last and not meets
            between.append(op)
        elif meets:  # the pack moves past it in any case
            return None
    return calls[-1] if is_last else calls[0] if is_first else None


def _meets(op: Operation, others: Sequence[Operation], symbols: Mapping[str, Operation]) -> bool:
    touching = [each for each in others if isinstance(each, Touching)]
    return isinstance(op, Touching) and any(_meet(op, each, symbols) for each in touching)


def _meet(
    a: Operation, b: Operation, symbols: Mapping[str, Operation], *, by_turns: bool = False
) -> bool:
    """Whether one may write what the other one touches; `by_turns`: in another iteration of the loop."""
    assert isinstance(a, Touching)
    assert isinstance(b, Touching)
    theirs = b.touches(symbols)
    for one in a.touches(symbols):
        place = place_of(one.value)
        for other in theirs:
            if not one.writes and not other.writes:
                continue
            where = place_of(other.value)
            mine, its = one.elements(place), other.elements(where)
            if may_meet(place, [mine], where, [its]) and not (by_turns and _are_apart(mine, its)):
                return True
    return False


def _are_apart(a: Form, b: Form) -> bool:
    """Whether no two iterations of the first loop of both touch an element."""
    return a.coefficients[0] == b.coefficients[0] and iterations_apart([a, b], 0)
