"""Rewriting the iteration space of a nest: the one step behind splitting, reordering and domain cuts."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, NoneAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr
from inarch.dialects.loop.indirect import base_of, picks_of
from inarch.dialects.loop.memory import memref_of, strides_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import points_of
from inarch.ir.index.affine import linear_form
from inarch.ir.index.linear import Linear


def rebuild(
    nest: NestOp, iterators: Sequence[IteratorAttr], substitution: Sequence[AffineExpr]
) -> NestOp:
    """A copy of `nest` over other `iterators`; the caller inserts it."""
    copy = nest.clone()
    copy.location = nest.location
    replace_iterators(copy, iterators, substitution)
    return copy


def at_points(nest: NestOp, points: Sequence[range]) -> NestOp:
    """A copy of `nest` over these points of each iterator alone; the caller inserts it."""
    iterators = [each.of_size(len(own)) for each, own in zip(nest.iterators, points, strict=True)]
    places = [AffineExpr.dimension(i) * own.step + own.start for i, own in enumerate(points)]
    return rebuild(nest, iterators, places)


def replace_iterators(
    nest: NestOp, iterators: Sequence[IteratorAttr], substitution: Sequence[AffineExpr]
) -> None:
    """Gives `nest` other `iterators`.

    `substitution[i]` is old iterator `i` over the new ones: `[d0 * 4 + d1, d2]` splits the first by 4. The
    caller sees to it that the points are those of before. Every pass that changes iterators does it here:
    what the bodies say of where they are (`loop.point`) moves along.
    """
    count = len(iterators)
    reads = [
        ReadAttr.get(_substitute(read.map.data, substitution, count), _number(read.pad))
        for read in nest.reads
    ]
    writes = [
        WriteAttr.get(
            _substitute(write.map.data, substitution, count), _number(write.init), clip=write.clips
        )
        for write in nest.writes
    ]
    points = [point for region in nest.regions for point in points_of(region.block)]
    if points:
        names = [iterator.label.data for iterator in iterators]
        places = [Linear.of(expr, count) for expr in substitution]
        for point in points:
            point.move(nest.names, names, places)
    nest.iterators = ArrayAttr(iterators)
    nest.reads = ArrayAttr(reads)
    nest.writes = ArrayAttr(writes)


def _number(attribute: Attribute) -> Attribute | None:
    return None if isinstance(attribute, NoneAttr) else attribute


def _substitute(index: AffineMap, substitution: Sequence[AffineExpr], count: int) -> AffineMap:
    symbols = [AffineExpr.symbol(position) for position in range(index.num_symbols)]
    return index.replace_dims_and_symbols(list(substitution), symbols, count, len(symbols))


def reorder(nest: NestOp, order: Sequence[int]) -> None:
    """Puts the iterators of `nest` in `order` (old positions, outermost first)."""
    place = {old: new for new, old in enumerate(order)}
    substitution = [AffineExpr.dimension(place[old]) for old in range(len(order))]
    replace_iterators(nest, [nest.iterators.data[old] for old in order], substitution)


def strides_along(nest: NestOp, buffer: SSAValue, index: AffineMap) -> list[int]:
    """Elements by which an access, none of whose indices is read, moves per step of each iterator."""
    strides = strides_of(memref_of(buffer))
    forms = [linear_form(expr, len(nest.iterators))[0] for expr in index.results]
    return [
        sum(stride * form[i] for stride, form in zip(strides, forms, strict=True))
        for i in range(len(nest.iterators))
    ]


def read_strides(nest: NestOp, position: int) -> list[int | None]:
    """Those of an operand; None for an iterator along which an index of it is read: it moves anywhere."""
    index = nest.read_map(position)
    strides = strides_along(nest, nest.ins[position], base_of(index))
    picking = {i for n in picks_of(index).values() for i in nest.read_map(n).used_dims()}
    return [None if i in picking else stride for i, stride in enumerate(strides)]
