"""Nests that copy elements, each from one place of their source."""

from __future__ import annotations

from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, linear_map
from inarch.passes.loop.nests.edge import is_elementwise
from inarch.passes.loop.nests.transform import read_strides, strides_along


def is_copy(nest: NestOp) -> bool:
    """Whether a nest computes nothing, and reads a part of a buffer in any order: no window, step or pad."""
    if not is_elementwise(nest) or len(nest.ins) != 1:
        return False
    if nest.reads.data[0].is_padded or nest.reads.data[0].is_indirect:
        return False
    if nest.yielded(nest.body)[0] is not nest.body.block.args[0]:
        return False
    index = linear_map(nest.read_map(0))
    return all(form.is_constant or _moves_by_one(form) for form in index)


def _moves_by_one(form: Linear) -> bool:
    return Linear(form.coefficients, 0).lone_iterator is not None


def is_transposed(copy: NestOp) -> bool:
    """Whether neighbours of what a copy writes are no neighbours of what it reads."""
    writes = strides_along(copy, copy.outs[0], copy.write_map(0))
    pairs = zip(writes, read_strides(copy, 0), copy.sizes, strict=True)
    return any(write == 1 and read != 1 and size > 1 for write, read, size in pairs)
