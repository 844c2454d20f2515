"""Whether nests may share loops, and if not, which element has a loop-carried dependence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError, UsageError
from inarch.dialects.loop.buffer import root
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import points_of
from inarch.ir.index.affine import print_affine_expr
from inarch.ir.index.linear import Linear
from inarch.passes.loop.nests.uses import BufferUses
from inarch.passes.loop.tiling.classes import Classes, operands_of
from inarch.passes.loop.tiling.group import Group
from inarch.passes.schedule.language.places import error_of

_MOST_POINTS = 4096
"""That are tried for an example."""


def group_of(nests: Sequence[NestOp], positions: Sequence[int]) -> Group:
    """The nests, the consumer last, as a group whose loops are the consumer's iterators at `positions`.

    Raises InarchError, with the dependence, where they may not share them.
    """
    consumer = nests[-1]
    for nest in nests:
        _check_form(nest)
    _check_between(nests)
    names = [consumer.names[at] for at in positions]
    classes = Classes(nests[0], operands_of(nests[0]))
    for count, nest in enumerate(nests[1:], 2):
        classes.grow(nest, operands_of(nest))
        if not classes.found:
            raise _refused(nests[:count], names[0], None)
    last = {own[-1]: own for own in classes.found}
    for at, name in zip(positions, names, strict=True):
        if at not in last:
            raise _refused(nests, name, at)
    return Group.of(nests, tuple(last[at] for at in positions))


def _check_form(nest: NestOp) -> None:
    regions = [nest.body, *([nest.finish] if nest.finish is not None else [])]
    if nest.has_scan:
        raise error_of(
            nest,
            "expected a nest in parts, found a scan, whose chain goes on from turn to iteration",
        )
    if len(nest.outs) != 1:
        raise error_of(nest, f"expected a nest with one output, found {len(nest.outs)}")
    if 0 in nest.sizes:
        raise error_of(nest, "expected a nest with points, found none")
    if is_indirect(nest):
        raise error_of(nest, "expected reads at linear indices, found an index that is read")
    if any(points_of(region.block) for region in regions):
        raise error_of(
            nest, "expected a nest that does not ask where its points are, found loop.point"
        )


def _check_between(nests: Sequence[NestOp]) -> None:
    """All of them move down to the last one: what is between may not touch what they write, nor write it."""
    block = nests[-1].parent
    assert block is not None, "a nest stands in a block"
    if any(nest.parent is not block for nest in nests) or len(set(nests)) < len(nests):
        raise error_of(nests[-1], "expected different nests of one block")
    uses = BufferUses.of_block(block)
    places = [uses.places[nest] for nest in nests]
    if places != sorted(places):
        raise UsageError("expected producers in the program's order, and before their consumer")
    ops = list(uses.places)
    for at, nest in enumerate(nests[:-1]):
        for between in range(places[at] + 1, places[-1]):
            if ops[between] in nests:
                continue
            why = _touches(uses, nest, between)
            if why is not None:
                found = f"found '{ops[between].name}' between, which {why}; fuse it, too"
                raise error_of(
                    nest, f"expected a producer that moves down to its consumer, {found}"
                )


def _touches(uses: BufferUses, nest: NestOp, place: int) -> str | None:
    for out in nest.outs:
        if place in uses.used.get(root(out), ()):
            return f"uses {_name(out)}, which it writes"
    for value in nest.ins:
        if place in uses.written.get(root(value), ()):
            return f"writes {_name(value)}, which it reads"
    return None


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a buffer"


# ------------------------------------------------------------------------ what forbids it


def _refused(nests: Sequence[NestOp], name: str, position: int | None) -> InarchError:
    consumer = nests[-1]
    wanted = f"expected iterations of {name} that touch what they write themselves"
    at = consumer.names.index(name) if position is None and name in consumer.names else position
    if at is not None and (consumer.iterators.data[at].is_reduction or consumer.sizes[at] == 1):
        kind = "a reduction" if consumer.iterators.data[at].is_reduction else "of one point"
        return error_of(
            consumer, f"expected a parallel iterator of several points, found {name}, {kind}"
        )
    if at is not None:
        for producer in nests[:-1]:
            for text in _meetings(producer, consumer, name, at):
                return error_of(consumer, f"{wanted}, found {text}")
            partner = _partner(producer, consumer, at)
            if partner is not None and producer.sizes[partner] != consumer.sizes[at]:
                other = f"{producer.names[partner]} of the producer, which goes with it"
                found = f"found {consumer.sizes[at]}, and {producer.sizes[partner]} of {other}"
                return error_of(
                    consumer, f"expected as many points of {name} as its partner has, {found}"
                )
        for nest in nests:
            for text in _guards(nest, name, at if nest is consumer else None):
                return error_of(consumer, f"{wanted}, found {text}")
    pairs = [
        f"{_name(operand.value)}[{_text(operand.index, nest)}]"
        for nest in nests
        for operand in operands_of(nest)
        if any(root(operand.value) is root(out) for each in nests for out in each.outs)
    ]
    found = ", ".join(dict.fromkeys(pairs))
    return error_of(
        consumer,
        f"{wanted}, found {found}: expected each to be indexed by {name}, or by what goes with it, "
        "alone in one "
        "dimension and from 0 on",
    )


def _guards(nest: NestOp, name: str, at: int | None) -> Iterator[str]:
    """An operand whose border, or whose direction, a block would move."""
    for operand in operands_of(nest) if at is not None else ():
        text = f"{_name(operand.value)}[{_text(operand.index, nest)}]"
        if any(form.coefficients[at or 0] < 0 for form in operand.index):
            yield f"{text}, which runs backwards along {name}"
        elif operand.is_guarded and operand.uses(at or 0):
            yield f"{text}, whose pad or clip counts from a border that blocks of {name} move; cache it first"


def _meetings(producer: NestOp, consumer: NestOp, name: str, at: int) -> Iterator[str]:
    """An element that the producer writes in one iteration, and the consumer touches in another one."""
    out, index = producer.outs[0], operands_of(producer)[-1].index
    partner = _partner(producer, consumer, at)
    for operand in operands_of(consumer):
        if operand.value is not out:
            continue
        for point in _points(consumer):
            element = [_value(form, point) for form in operand.index]
            source = _point_of(index, producer.sizes, element)
            if source is None:
                continue
            if partner is None:
                where = ", ".join(f"{n} = {v}" for n, v in zip(producer.names, source, strict=True))
                yield (
                    f"that {name} = {point[at]} reads {_name(out)}[{', '.join(map(str, element))}], "
                    "which the "
                    f"producer writes at {where}: no iterator of it goes with {name}"
                )
                return
            if source[partner] != point[at]:
                yield (
                    f"that {name} = {point[at]} reads {_name(out)}[{', '.join(map(str, element))}], "
                    "which the "
                    f"producer writes at {producer.names[partner]} = {source[partner]}"
                )
                return


def _partner(producer: NestOp, consumer: NestOp, at: int) -> int | None:
    """The producer's iterator that goes with the consumer's: both move one dimension of what is handed on."""
    out, index = producer.outs[0], operands_of(producer)[-1].index
    for operand in operands_of(consumer):
        if operand.value is not out:
            continue
        for read, write in zip(operand.index, index, strict=True):
            if read.coefficients[at]:
                used = [i for i, factor in enumerate(write.coefficients) if factor]
                return used[0] if used else None
    return None


def _points(nest: NestOp) -> Iterator[tuple[int, ...]]:
    """The corners and what is beside them, first those near 0."""
    ends = [sorted({0, 1, size - 1} & set(range(size))) for size in nest.sizes]
    for count, point in enumerate(product(*ends)):
        if count == _MOST_POINTS:
            return
        yield point


def _value(form: Linear, point: Sequence[int]) -> int:
    return form.constant + sum(c * v for c, v in zip(form.coefficients, point, strict=True))


def _point_of(
    index: Sequence[Linear], sizes: Sequence[int], element: Sequence[int]
) -> tuple[int, ...] | None:
    """The point at which a nest writes an element; its reductions are at 0. None where it does not.

    No two points write one element (C4): by the size of its factor, each iterator is what is left over.
    """
    found = [0] * len(sizes)
    for form, wanted in zip(index, element, strict=True):
        left = wanted - form.constant
        terms = sorted(
            ((abs(c), i) for i, c in enumerate(form.coefficients) if c and sizes[i] > 1),
            reverse=True,
        )
        # Those with a factor below 0 count from their last point.
        left += sum(
            abs(form.coefficients[i]) * (sizes[i] - 1) for _, i in terms if form.coefficients[i] < 0
        )
        for factor, i in terms:
            count = min(left // factor, sizes[i] - 1)
            if count < 0:
                return None
            left -= count * factor
            found[i] = count if form.coefficients[i] > 0 else sizes[i] - 1 - count
        if left:
            return None
    return tuple(found)


def _text(index: Sequence[Linear], nest: NestOp) -> str:
    return ", ".join(print_affine_expr(form.expression(), nest.names) for form in index)
