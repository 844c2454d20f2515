"""A reshape is a view; a concat writes each part at its offset."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.shape import ConcatOp, ReshapeOp
from inarch.passes.lower.builder import LoopBuilder


def _lower_reshape(op: Operation, builder: LoopBuilder) -> None:
    (source,), (result,) = op.operands, op.results
    builder.buffers[result] = builder.reshape(builder.buffers[source], shape_of(result))


def _lower_concat(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ConcatOp)
    (result,) = op.results
    dtype = tensor_dtype(result)
    out = builder.result(result)
    is_plain = all(layout_of(value) is None for value in (*op.operands, result))
    runs = op.runs() if is_plain else [(part, 1) for part in op.operands]
    for (part, _), spec in zip(runs, op.part_nests(runs), strict=True):
        builder.nest(spec, [builder.buffers[part]], [dtype], out, dtype)


LOWERING = {ReshapeOp: _lower_reshape, ConcatOp: _lower_concat}
