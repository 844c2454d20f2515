"""Rewriting the iteration space of a nest: the one step behind splitting, reordering and domain cuts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, typed
from inarch.dialects.loop.memory import memref_of, strides_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.affine import linear_form


def rebuild(
    nest: NestOp,
    iterators: Sequence[IteratorAttr],
    substitution: Sequence[AffineExpr],
    *,
    operands: Mapping[int, tuple[SSAValue, AffineMap]] | None = None,
    clip: bool = False,
    pad: Collection[int] = (),
) -> NestOp:
    """A copy of `nest` over other `iterators`; the caller inserts it.

    `substitution[i]` is old iterator `i` over the new ones: `[d0 * 4 + d1, d2]` splits the first by 4.
    `operands` replaces inputs: position -> (buffer, map over the new iterators). With `clip`, writes
    that run over the edge are dropped; `pad` are the inputs that such points read outside, where they
    yield 0. The caller sees to it that the points are those of the old nest.
    """
    ins = list(nest.ins)
    reads = [
        ReadAttr.get(
            _substitute(read.map.data, substitution, len(iterators)),
            _pad(read, nest.ins[i], wanted=i in pad),
        )
        for i, read in enumerate(nest.reads)
    ]
    for position, (buffer, index) in (operands or {}).items():
        ins[position] = buffer
        reads[position] = ReadAttr.get(index)
    writes = [
        WriteAttr.get(
            _substitute(write.map.data, substitution, len(iterators)),
            _number(write.init),
            clip=clip or write.clips,
        )
        for write in nest.writes
    ]
    finish = nest.finish.clone() if nest.finish is not None else None
    copy = NestOp(iterators, ins, reads, list(nest.outs), writes, nest.body.clone(), finish)
    copy.location = nest.location
    copy.attributes |= nest.attributes
    return copy


def _pad(read: ReadAttr, buffer: SSAValue, *, wanted: bool) -> Attribute | None:
    """The read's own pad; where it has none and one is `wanted`, 0."""
    given = _number(read.pad)
    if given is not None or not wanted:  # not `or`: xDSL's IntegerAttr of 0 is false
        return given
    return typed(0, memref_of(buffer).element_type)


def _number(attribute: Attribute) -> Attribute | None:
    return None if isinstance(attribute, NoneAttr) else attribute


def _substitute(index: AffineMap, substitution: Sequence[AffineExpr], count: int) -> AffineMap:
    return index.replace_dims_and_symbols(list(substitution), [], count, 0)


def reorder(nest: NestOp, order: Sequence[int]) -> NestOp:
    """A copy of `nest` whose iterators stand in `order` (old positions, outermost first)."""
    place = {old: new for new, old in enumerate(order)}
    substitution = [AffineExpr.dimension(place[old]) for old in range(len(order))]
    return rebuild(nest, [nest.iterators.data[old] for old in order], substitution)


def strides_along(nest: NestOp, buffer: SSAValue, index: AffineMap) -> list[int]:
    """Elements by which an access moves per step of each iterator."""
    layout = strides_of(memref_of(buffer))
    assert layout is not None
    forms = [linear_form(expr, len(nest.iterators))[0] for expr in index.results]
    return [
        sum(stride * form[i] for stride, form in zip(layout[0], forms, strict=True))
        for i in range(len(nest.iterators))
    ]
