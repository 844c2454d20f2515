"""Cuts the domain of a padded copy where its padding begins, so that no loop asks about bounds.

    for i in 10: y[i] = x[i - 1], 0 outside       -->     for i in 1: y[i] = 0
                                                          for i in 8: y[i + 1] = x[i]
                                                          for i in 1: y[i + 9] = 0

Each piece is a nest of its own: the inside is a plain copy, which the C compiler vectorises, and the
borders write constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region

from inarch.dialects.loop.access import ReadAttr, WriteAttr
from inarch.dialects.loop.indirect import scatters
from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase
from inarch.ir.index.affine import linear_form
from inarch.ir.passes import OptionalPass
from inarch.passes.loop.nests.transform import at_points


@dataclass(frozen=True)
class SplitPaddingPass(OptionalPass):
    """Splits parallel nests with one operand, read with `pad` at one iterator a dimension."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nest in free_nests(op):
            inside = _inside(nest)
            if inside is not None:
                _split(nest, inside)


_Range = tuple[int, int]
"""First point, and the point after the last."""


def _inside(nest: NestOp) -> list[_Range] | None:
    """The points of each iterator at which the read is inside its operand, where that is a box."""
    if len(nest.ins) != 1 or nest.carries or nest.finish is not None or scatters(nest):
        return None
    if not nest.reads.data[0].is_padded or 0 in nest.sizes:
        return None
    ranges = [(0, size) for size in nest.sizes]
    shape = buffer_shape(nest.ins[0])
    for expr, size in zip(nest.read_map(0).results, shape, strict=True):
        coefficients, constant = linear_form(expr, len(ranges))
        used = [i for i, coefficient in enumerate(coefficients) if coefficient]
        if not used and 0 <= constant < size:
            continue
        if len(used) != 1 or coefficients[used[0]] < 1:
            return None
        step = coefficients[used[0]]
        first = max(0, -(constant // step))  # the least i with i * step + constant >= 0
        after = (size - 1 - constant) // step + 1
        low, high = ranges[used[0]]
        ranges[used[0]] = (max(low, first), min(high, after))
    return ranges if all(low < high for low, high in ranges) else None


def _split(nest: NestOp, inside: list[_Range]) -> None:
    parent = nest.parent
    assert parent is not None
    for box, is_border in _boxes(nest.sizes, inside):
        piece = at_points(nest, [range(*each) for each in box])
        if is_border:
            piece = _constant(piece)
        else:
            piece.properties["reads"] = type(piece.reads)([ReadAttr.get(piece.read_map(0))])
        parent.insert_op_before(piece, nest)
    erase(nest)


def _boxes(sizes: tuple[int, ...], inside: list[_Range]) -> Iterator[tuple[list[_Range], bool]]:
    """Disjoint boxes that cover the domain: two borders an iterator, then the inside."""
    box: list[_Range] = [(0, size) for size in sizes]
    for axis, (low, high) in enumerate(inside):
        for start, stop in ((0, low), (high, sizes[axis])):
            if start < stop:
                yield [*inside[:axis], (start, stop), *box[axis + 1 :]], True
    yield list(inside), False


def _constant(piece: NestOp) -> NestOp:
    """A border: the operand is outside everywhere, so its element is the pad."""
    body: Region = piece.body.clone()
    element = body.block.args[0]
    pad = arith.ConstantOp(piece.reads.data[0].pad)  # pyright: ignore[reportArgumentType] - a typed number
    first = body.block.first_op
    assert first is not None
    body.block.insert_op_before(pad, first)
    element.replace_all_uses_with(pad.result)
    body.block.erase_arg(element)
    writes = [WriteAttr(write.map, write.init, write.clip) for write in piece.writes]
    border = NestOp(list(piece.iterators), [], [], list(piece.outs), writes, body)
    border.location = piece.location
    piece.erase()  # it has never been in a block, and would count as a user of its operands
    return border
