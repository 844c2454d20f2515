"""Maps of several outputs in vector lanes: C compilers make scalars of loops over so many pointers.

    for q, l: u[q, l], v[q, l] = f(x[q, l], y[q, l])  -->  for q, l by 8, 8 lanes of l: ...

A map of one output stays a plain loop, which they do vectorise. Reductions and scans: `nests/chains.py`.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr
from xdsl.traits import IsTerminator

from inarch.core.scalars.functions import of_op
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.types import dtype_of, f32, i1
from inarch.machine.target import Target
from inarch.passes.loop.nests.chains import fresh_label
from inarch.passes.loop.nests.transform import reorder, replace_iterators, strides_along

_FEWEST_BYTES = 16
"""Bytes of the smallest vector that is profitable: a register of SSE and NEON."""
_CASTS = (
    *(arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp, arith.UIToFPOp),
    *(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.BitcastOp),
)
_SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)


def is_native(op: Operation) -> bool:
    """Whether the emitter has a form of the op for whole vectors (or it is a constant, or the end)."""
    if isinstance(op, arith.ConstantOp) or op.has_trait(IsTerminator):
        return True
    if any(value.type == i1 for value in (*op.operands, *op.results)):
        return False
    if isinstance(op, _SHIFTS):
        return amount_of(op) is not None
    row, _ = of_op(op.name)
    of_floats = op.name == row.floats
    if row.has_vectors:
        return op.results[0].type == f32
    if row.sign:
        return of_floats or row.name != "div"
    return bool(row.order) or (of_floats and row.name in ("neg", "abs")) or isinstance(op, _CASTS)


def amount_of(shift: Operation) -> int | None:
    """By how much it shifts, where that is a constant below the width; else None."""
    by = shift.operands[1].owner if isinstance(shift, _SHIFTS) else None
    value = by.value if isinstance(by, arith.ConstantOp) else None
    if not isinstance(value, IntegerAttr):
        return None
    amount = value.value.data
    return amount if 0 <= amount < dtype_of(shift.results[0].type).bits else None


def run_in_lanes(nest: NestOp, target: Target) -> None:
    """Gives a map of several outputs the mode `vector` along whole contiguous vectors."""
    if any(iterator.mode.data in ("vector", "unroll") for iterator in nest.iterators):
        return
    at = contiguous_iterator(nest)
    count = _lanes(nest, nest.sizes[at], target) if at is not None else None
    if at is not None and count is not None:
        _put_lanes_inside(nest, at, count)


def contiguous_iterator(nest: NestOp) -> int | None:
    """The iterator along which a map of several outputs can run in lanes; None where it cannot.

    All outputs are contiguous along it, operands too, or they stay where they are; all ops have vector forms.
    """
    if nest.carries or len(nest.outs) < 2 or is_indirect(nest) or 0 in nest.sizes:
        return None
    if any(read.is_padded for read in nest.reads) or any(write.clips for write in nest.writes):
        return None
    if not all(is_native(op) for region in nest.regions for op in region.block.ops):
        return None
    reads = [strides_along(nest, value, nest.read_map(i)) for i, value in enumerate(nest.ins)]
    writes = [strides_along(nest, value, nest.write_map(i)) for i, value in enumerate(nest.outs)]
    for at in reversed(range(len(nest.iterators))):
        moves = nest.sizes[at] > 1 and all(strides[at] == 1 for strides in writes)
        if moves and all(strides[at] in (0, 1) for strides in reads):
            return at
    return None


def _lanes(nest: NestOp, size: int, target: Target) -> int | None:
    """The most lanes that an iterator is a whole number of vectors of; None: too few."""
    widest = max(dtype_of(memref_of(value).element_type).nbytes for value in nest.operands)
    lanes = target.vector_bytes // widest
    while lanes > 1 and size % lanes:
        lanes //= 2
    return lanes if lanes > 1 and lanes * widest >= _FEWEST_BYTES else None


def _put_lanes_inside(nest: NestOp, at: int, count: int) -> None:
    """Cuts an iterator in vectors, and puts their lanes inside of all else."""
    last = len(nest.iterators) - 1
    reorder(nest, [*(i for i in range(last + 1) if i != at), at])
    *outer, old = nest.iterators
    size, label = old.size.data, old.label.data
    if size == count:
        nest.iterators = ArrayAttr([*outer, IteratorAttr.get(label, size, mode="vector")])
        return
    inner = fresh_label(f"{label}_{count}", set(nest.names))
    place = AffineExpr.dimension(last) * count + AffineExpr.dimension(last + 1)
    replace_iterators(
        nest,
        [
            *outer,
            IteratorAttr.get(label, size // count),
            IteratorAttr.get(inner, count, mode="vector"),
        ],
        [*map(AffineExpr.dimension, range(last)), place],
    )
