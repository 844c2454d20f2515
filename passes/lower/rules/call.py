"""A call of a function on tensors is a call on buffers: inputs, then outputs."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.graph.call import CallOp
from inarch.dialects.loop.control import CallOp as LoopCallOp
from inarch.ir.location import LOCATIONS
from inarch.passes.lower.builder import LoopBuilder


def _lower_call(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, CallOp)
    inputs = [builder.buffers[operand] for operand in op.operands]
    outputs = [builder.result(result) for result in op.results]
    call = builder.add(LoopCallOp(op.callee.root_reference.data, [*inputs, *outputs]))
    if LOCATIONS in op.attributes:
        call.attributes[LOCATIONS] = op.attributes[LOCATIONS]


LOWERING = {CallOp: _lower_call}
