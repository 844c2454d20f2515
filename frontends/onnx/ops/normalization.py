"""Normalizations at inference: BatchNormalization, LayerNormalization, InstanceNormalization."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.dialects.graph.arithmetic import AddOp, MulOp, SubOp
from inarch.dialects.graph.normalization import BatchNormOp, LayerNormOp
from inarch.dialects.graph.reduce import ReduceMeanOp
from inarch.dialects.graph.unary import ReciprocalOp, SqrtOp
from inarch.frontends.onnx._node import Converter, Node
from inarch.frontends.onnx._report import NotSupportedError


def _batch_normalization(node: Node) -> SSAValue:
    training = (
        node.flag("training_mode", default=False)
        if node.opset >= 14
        else (node.opset < 7 and not node.flag("is_test", default=False))
    )
    if training:
        raise NotSupportedError("training mode")
    if not node.flag("spatial", default=True):
        raise NotSupportedError("spatial = 0")
    operands = [node.x(index) for index in range(5)]
    return node.emit(BatchNormOp, *operands, epsilon=node.float("epsilon", 1e-5))


def _layer_normalization(node: Node) -> Sequence[SSAValue]:
    axis, epsilon = node.int("axis", -1), node.float("epsilon", 1e-5)
    operands = [node.x(index) for index in range(3) if index < 2 or node.has(index)]
    result = node.emit(LayerNormOp, *operands, axis=axis, epsilon=epsilon)
    if node.outputs == 1:
        return [result]
    rank = len(node.shape())
    return [result, *_moments(node, list(range(node.axis(axis, rank), rank)), epsilon)[1:]]


def _moments(node: Node, axes: list[int], epsilon: float) -> tuple[SSAValue, SSAValue, SSAValue]:
    """`x - mean`, mean, and `1 / sqrt(variance + epsilon)` along `axes`, which are kept."""
    x = node.x()
    mean = node.emit(ReduceMeanOp, x, axes=axes, keepdims=True)
    centred = node.emit(SubOp, x, mean)
    square = node.emit(MulOp, centred, centred)
    variance = node.emit(ReduceMeanOp, square, axes=axes, keepdims=True)
    deviation = node.emit(SqrtOp, node.emit(AddOp, variance, node.like(epsilon, x)))
    return centred, mean, node.emit(ReciprocalOp, deviation)


def _instance_normalization(node: Node) -> SSAValue:
    """Each channel of each element of the batch by itself."""
    shape = node.shape()
    centred, _, inverse = _moments(node, list(range(2, len(shape))), node.float("epsilon", 1e-5))
    per_channel = (shape[1], *(1,) * (len(shape) - 2)) if len(shape) > 1 else shape
    scale, bias = (node.reshape(node.x(index), per_channel) for index in (1, 2))
    scaled = node.emit(MulOp, node.emit(MulOp, centred, inverse), scale)
    return node.emit(AddOp, scaled, bias)


CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "InstanceNormalization": _instance_normalization,
    "LayerNormalization": _layer_normalization,
}
