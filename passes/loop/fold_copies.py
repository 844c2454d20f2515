"""Packs of a permuted copy read the copy's source, and the copy goes away.

    T[k, n] = B[n, k]                          P[o, k, l] = B[16 o + l, k]
    P[o, k, l] = T[k, 16 o + l]       -->
    kernel(A, P, C)                            kernel(A, P, C)

A transposed operand of a product that is an argument is read once and written once, in place of twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import typed
from inarch.dialects.loop.buffer import AllocOp, root
from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.location import location_text
from inarch.ir.report.remarks import remarks_of
from inarch.passes.loop.nests.edge import is_elementwise, written_dimensions
from inarch.passes.loop.nests.uses import written_buffers


@dataclass(frozen=True)
class FoldCopiesPass(ModulePass):
    """Composes each `kernel.pack` of a copy with it, where all that reads the copy are such packs.

    A copy is a nest that writes each element of an allocation once, by one read at a linear index: a
    permutation, a slice, a broadcast, a reversal. All packs stand after it in its block, and nothing between
    writes its source. Where a pack leaves the copy, and reads 0, it must leave the source as well.
    """

    name = "fold-copies"
    is_optional: ClassVar = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols: dict[str, Operation] = {
            each.sym_name.data: each for each in op.body.ops if isinstance(each, DefOp | FuncOp)
        }
        remarks = remarks_of(ctx)
        for nest in free_nests(op):
            source = _copied(nest)
            packs = [] if source is None else _packs(nest, symbols)
            if source is None or not packs:
                continue
            composed = [_composed(pack, nest, source) for pack in packs]
            if not all(composed):
                continue
            for pack, index in zip(packs, filter(None, composed), strict=True):
                remarks.done(pack, f"reads the source of the copy at {location_text(nest) or '?'}")
                made = PackOp(nest.ins[0], index, pack.dst)
                made.attributes |= pack.attributes
                made.location = pack.location
                Rewriter.replace_op(pack, made)
            alloc = nest.outs[0].owner
            assert isinstance(alloc, AllocOp)
            for gone in (nest, alloc):
                gone.detach()
                gone.erase()


PASS = FoldCopiesPass


def _copied(nest: NestOp) -> Sequence[Linear] | None:
    """The index of the source of each element that a nest copies; None for other nests."""
    if len(nest.ins) != 1 or not is_elementwise(nest) or written_dimensions(nest) is None:
        return None
    only = nest.body.block.ops.first
    if only is not nest.body.block.last_op or nest.reads.data[0].is_indirect:
        return None
    (value,) = nest.yielded(nest.body)
    if value is not nest.body.block.args[0] or not isinstance(nest.outs[0].owner, AllocOp):
        return None
    shape = buffer_shape(nest.outs[0])
    if 0 in shape or 0 in buffer_shape(nest.ins[0]):
        return None
    found = [Linear((0,) * len(shape), 0)] * len(
        nest.iterators
    )  # an iterator of one iteration is 0
    for axis, form in enumerate(linear_map(nest.write_map(0))):
        if (iterator := form.lone_iterator) is not None:
            found[iterator] = Linear.iterator(axis, len(shape))
    return [form.substitute(found, len(shape)) for form in linear_map(nest.read_map(0))]


def _packs(nest: NestOp, symbols: Mapping[str, Operation]) -> list[PackOp]:
    """All that reads a copy: packs after it in its block.

    None where another op reads the copy, or its source is written before a pack.
    """
    copied, source = nest.outs[0], root(nest.ins[0])
    found = [use.operation for use in copied.uses if use.operation is not nest]
    packs = [each for each in found if isinstance(each, PackOp) and each.src is copied]
    left = set(packs)
    if len(left) < len(found) or any(root(each.dst) is source for each in packs):
        return []
    following = nest.next_op
    while following is not None:
        left.discard(following)
        if not left:
            return packs
        for inner in following.walk():
            if any(root(value) is source for value in written_buffers(inner, symbols)):
                return []
        following = following.next_op
    return []


def _composed(pack: PackOp, nest: NestOp, source: Sequence[Linear]) -> AffineMapAttr | None:
    """The map of a pack of a copy, to the copy's source; None where they are 0 at other elements."""
    shape, copied, given = map(buffer_shape, (pack.dst, pack.src, nest.ins[0]))
    if 0 in shape:
        return None
    forms = linear_map(pack.map.data)
    read = nest.reads.data[0]
    if read.is_padded and read.pad != typed(0, memref_of(pack.src).element_type):
        return None
    for axis, (form, size) in enumerate(zip(forms, copied, strict=True)):
        low, high = form.bounds(shape)
        follows = any(
            own.lone_iterator == axis and size == extent
            for own, extent in zip(source, given, strict=True)
        )
        if (low < 0 or high >= size) and not follows:
            return None
    composed = [form.substitute(forms, len(shape)) for form in source]
    return AffineMapAttr(affine_map(composed, len(shape)))
