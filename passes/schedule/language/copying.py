"""Copies of an operand in front of a nest, which then reads the copy."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from inarch.core.errors import UsageError, unknown
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import ReadAttr, number_of
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.types import memref
from inarch.passes.schedule.language.keeping import keep
from inarch.passes.schedule.language.places import error_of
from inarch.passes.schedule.language.words import Words

MOST_ELEMENTS = 1 << 31
"""Of a copy."""


def read_operand(words: Words) -> str:
    """`%w`, or the number of an operand that is read."""
    return str(words.number("an operand")) if words.next.isdigit() else words.name("an operand")


def operand_of(nest: NestOp, operand: str) -> int:
    """The position of what a nest reads: by its name, or by its number from 0 on. Raises InarchError."""
    names = [f"%{value.name_hint}" if value.name_hint else "" for value in nest.ins]
    if operand.isdigit():
        if int(operand) >= len(names):
            count = len(names)
            raise UsageError(f"expected an operand from 0 to {count - 1}, found {operand}")
        at = int(operand)
    else:
        found = [i for i, name in enumerate(names) if name.lstrip("%") == operand.lstrip("%")]
        if not found or not operand.strip("%"):
            raise unknown("operand", operand, {*names} - {""})
        if len(found) > 1:
            raise UsageError(f"expected one operand {operand}, found the numbers {found}")
        at = found[0]
    if nest.reads.data[at].is_indirect:
        message = f"expected an operand read at linear indices, found operand {at}, where an index is read"
        raise error_of(nest, message)
    return at


def index_of(nest: NestOp, at: int) -> tuple[Linear, ...]:
    """The indices of an operand, of which a copy holds zeros outside. Raises InarchError for other pads."""
    read = nest.reads.data[at]
    forms = linear_map(read.map.data)
    if 0 in nest.sizes:
        raise error_of(nest, "expected a nest with points, found none")
    inside = all(
        low >= 0 and high < size
        for (low, high), size in zip(
            (form.bounds(nest.sizes) for form in forms), buffer_shape(nest.ins[at]), strict=True
        )
    )
    pad = number_of(read.pad)
    if read.is_padded and not inside and pad != 0:
        raise error_of(nest, f"expected a pad of 0, which is what a copy has outside, found {pad}")
    return forms


def read_copy(
    nest: NestOp, at: int, shape: Sequence[int], source: Sequence[Linear], index: Sequence[Linear]
) -> SSAValue:
    """Makes a copy whose elements are those of the operand at `source`; the nest reads it at `index`."""
    count = math.prod(shape)
    if count > MOST_ELEMENTS:
        raise error_of(nest, f"expected a copy of at most {MOST_ELEMENTS} elements, found {count}")
    value = nest.ins[at]
    alloc = AllocOp(memref(memref_of(value).element_type, list(shape)))
    alloc.buffer.name_hint = value.name_hint
    pack = PackOp(value, AffineMapAttr(affine_map(source, len(shape))), alloc.buffer)
    builder = Builder(InsertPoint.before(nest))
    for op in (alloc, pack):
        op.location = nest.location
        builder.insert(op)
    nest.operands[at] = alloc.buffer
    reads = list(nest.reads)
    reads[at] = ReadAttr.get(affine_map(index, len(nest.sizes)))
    nest.reads = ArrayAttr(reads)
    keep(nest)
    return alloc.buffer
