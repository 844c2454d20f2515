"""Transposed convolution: a nest for each phase of the result, which multiplies no inserted zeros."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.graph.op import tensor_dtype
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.passes.lower.builder import LoopBuilder


def _lower_conv_transpose(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ConvTransposeOp)
    result, dtype = builder.result(op.out), tensor_dtype(op.out)
    for spec, operands in op.nests():
        ins = [builder.buffers[operand] for operand in operands]
        builder.nest(spec, ins, [dtype] * len(ins), result, dtype)


LOWERING = {ConvTransposeOp: _lower_conv_transpose}
