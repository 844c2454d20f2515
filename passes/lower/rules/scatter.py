"""ScatterElements and ScatterND: a copy of the data, and a nest that writes to it at indices it reads.

    for i: for k, in order: out[i, at(indices[i, k])] = f(out[i, at(indices[i, k])], updates[i, k])

Updates that may meet differ in the one iterator that scans: all others have a dimension of the output.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.core.dtypes import DType
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.places.scatter import (
    STEPS,
    ScatterElementsOp,
    ScatterNdOp,
    ScatterOp,
)
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Scalar
from inarch.ir.index.affine import indirect_map
from inarch.passes.lower.builder import LoopBuilder, trace

_Index = Sequence[AffineExpr]


def _copied(op: ScatterOp, builder: LoopBuilder) -> bool:
    """Copies the data to the result; whether there is anything to update."""
    nest = NestBuilder()
    index = nest.shape(shape_of(op.data))
    out, dtype = builder.result(op.out), tensor_dtype(op.data)
    spec = nest.spec([index], index, _same)
    builder.nest(spec, [builder.buffers[op.data]], [dtype], out, dtype)
    return 0 not in shape_of(op.data) and 0 not in shape_of(op.updates)


def _same(x: Scalar) -> Scalar:
    return x


def _lower_elements(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ScatterElementsOp)
    if not _copied(op, builder):
        return
    axis, shape = op.axis.value.data, shape_of(op.updates)
    iterators = [
        IteratorAttr.get(f"i{d}", size, "scan" if d == axis else "parallel")
        for d, size in enumerate(shape)
    ]
    point = [AffineExpr.dimension(d) for d in range(len(shape))]
    place = [AffineExpr.symbol(0) if d == axis else expr for d, expr in enumerate(point)]
    _add(op, builder, iterators, [point], point, place)


def _lower_nd(op: Operation, builder: LoopBuilder) -> None:
    """The rows of indices are one dimension, whatever their shape."""
    assert isinstance(op, ScatterNdOp)
    if not _copied(op, builder):
        return
    depth, rest = shape_of(op.indices)[-1], shape_of(op.data)[shape_of(op.indices)[-1] :]
    count = 1
    for size in shape_of(op.indices)[:-1]:
        count *= size
    iterators = [IteratorAttr.get("n", count, "scan")]
    iterators += [IteratorAttr.get(f"i{d}", size) for d, size in enumerate(rest)]
    row, *slice_ = (AffineExpr.dimension(d) for d in range(len(iterators)))
    named = [[row, AffineExpr.constant(d)] for d in range(depth)]
    place = [*(AffineExpr.symbol(d) for d in range(depth)), *slice_]
    _add(op, builder, iterators, named, [row, *slice_], place, (count, depth), (count, *rest))


def _add(
    op: ScatterOp,
    builder: LoopBuilder,
    iterators: Sequence[IteratorAttr],
    named: Sequence[_Index],
    point: _Index,
    place: _Index,
    indices_shape: Sequence[int] | None = None,
    updates_shape: Sequence[int] | None = None,
) -> None:
    """The nest: where it reads the indices, reads the updates, and writes."""
    indices = builder.reshape(builder.buffers[op.indices], indices_shape or shape_of(op.indices))
    updates = builder.reshape(builder.buffers[op.updates], updates_shape or shape_of(op.updates))
    ins: list[SSAValue] = [*([indices] * len(named)), updates]
    maps = [indirect_map(len(iterators), each) for each in (*named, point)]
    out = builder.buffers[op.out]
    step = STEPS[op.reduction.data]
    dtype, kind = tensor_dtype(op.data), tensor_dtype(op.indices)
    dtypes: list[DType] = [*([kind] * len(named)), dtype, dtype]

    def body(*elements: Scalar) -> Scalar:
        *_, update, held = elements
        return step(held, update)

    nest = NestOp(
        iterators,
        ins,
        [ReadAttr.get(each) for each in maps],
        [out],
        [WriteAttr.get(indirect_map(len(iterators), place))],
        trace(
            body, [memref_of(v).element_type for v in (*ins, out)], dtypes, with_accumulator=True
        ),
    )
    builder.add(nest)


LOWERING = {ScatterElementsOp: _lower_elements, ScatterNdOp: _lower_nd}
