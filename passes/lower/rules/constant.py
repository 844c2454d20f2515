"""A constant becomes a buffer of the weights."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.graph.constant import ConstantOp
from inarch.passes.lower.builder import LoopBuilder


def _lower_constant(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ConstantOp)
    builder.buffers[op.out] = builder.constant_attr(op.value)


LOWERING = {ConstantOp: _lower_constant}
