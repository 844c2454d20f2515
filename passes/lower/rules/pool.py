"""Average pooling: a sum over the window, then a division by how many elements it covered.

Maximum pooling of values that are never negative is padded with 0, which a halo may hold.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from inarch.core.lazy import np
from inarch.dialects.graph.facts.nonnegative import is_nonnegative
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows.pool import AvgPoolOp, MaxPoolOp
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Scalar
from inarch.passes.lower.builder import LoopBuilder


def _divide(total: Scalar, count: Scalar) -> Scalar:
    return total / count


def _lower_avg_pool(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, AvgPoolOp)
    (x,), (result,) = op.operands, op.results
    dtype = tensor_dtype(result)
    shape = shape_of(result)
    sums = builder.alloc(result.type.element_type, shape, layout_of(result))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] - a tensor
    builder.nest(op.sum_nest(), [builder.buffers[x]], [tensor_dtype(x)], sums, dtype)
    counts = np.asarray(op.counts()).astype(dtype.numpy)
    nest = NestBuilder()
    index = nest.shape(shape)
    spatial = index[2:]
    divisor = builder.constant(np.ascontiguousarray(counts), "window_counts")
    spec = nest.spec([index, spatial], index, _divide)
    builder.nest(spec, [sums, divisor], [dtype, dtype], builder.result(result), dtype)


def _lower_max_pool(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, MaxPoolOp)
    spec = op.nest()
    if is_nonnegative(op.x):  # each window has an element of x (C5), which no zero exceeds
        reads = [replace(read, pad=None if read.pad is None else 0) for read in spec.reads]
        spec = replace(spec, reads=tuple(reads))
    dtype = tensor_dtype(op.x)
    builder.nest(spec, [builder.buffers[op.x]], [dtype], builder.result(op.out), dtype)


LOWERING = {AvgPoolOp: _lower_avg_pool, MaxPoolOp: _lower_max_pool}
