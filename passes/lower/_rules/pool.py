"""Average pooling: a sum over the window, then a division by how many elements it covered."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects._nest import NestBuilder
from inarch.dialects.graph._base import shape_of, tensor_dtype
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.pool import AvgPoolOp
from inarch.lazy import np
from inarch.passes.lower._builder import LoopBuilder


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
    spec = nest.spec([index, spatial], index, lambda total, count: total / count)
    builder.nest(spec, [sums, divisor], [dtype, dtype], builder.result(result), dtype)


LOWERING = {AvgPoolOp: _lower_avg_pool}
