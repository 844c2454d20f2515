"""Gather: a nest that reads one of its indices."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Scalar
from inarch.passes.lower.builder import LoopBuilder


def _lower_gather(op: Operation, builder: LoopBuilder) -> None:
    """`out[o, i, n] = data[o, at(indices[i]), n]`; an index out of range reads the nearest element.

    Clamping keeps the generated code memory safe; ONNX leaves such an index undefined.
    """
    assert isinstance(op, GatherOp)
    (result,) = op.results
    nest = NestBuilder()
    index = nest.shape(shape_of(result))
    axis = op.axis.value.data
    behind = axis + len(shape_of(op.indices))
    data = [*index[:axis], nest.at(0), *index[behind:]]
    spec = nest.spec([index[axis:behind], data], index, _second)
    ins = [op.indices, op.data]
    builder.nest(
        spec,
        [builder.buffers[value] for value in ins],
        [tensor_dtype(value) for value in ins],
        builder.result(result),
        tensor_dtype(result),
    )


def _second(index: Scalar, element: Scalar) -> Scalar:
    """The body."""
    del index
    return element


LOWERING = {GatherOp: _lower_gather}
