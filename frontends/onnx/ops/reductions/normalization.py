"""Normalizations at inference: Batch-, Layer-, Group-, Instance- and LpNormalization, and LRN."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.composites.normalization import BatchNormOp, LayerNormOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, DivOp, MulOp, PowOp, SubOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.logic import EqualOp
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.elementwise.unary import AbsOp, ReciprocalOp, SqrtOp
from inarch.dialects.graph.op import element_of
from inarch.dialects.graph.reduce import ReduceMeanOp, ReduceSumOp
from inarch.dialects.graph.windows.pool import AvgPoolOp
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.tensors import element_dtype
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type


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
    operands = [node.cast_like(node.x(index), node.x()) for index in range(5)]
    return node.emit(BatchNormOp, *operands, epsilon=node.float("epsilon", 1e-5))


def _layer_normalization(node: Node) -> Sequence[SSAValue]:
    axis, epsilon = node.int("axis", -1), node.float("epsilon", 1e-5)
    operands = [node.x(index) for index in range(3) if index < 2 or node.has(index)]
    result = node.emit(LayerNormOp, *operands, axis=axis, epsilon=epsilon)
    if node.outputs == 1:
        return [result]
    rank = len(node.shape())
    return [result, *_moments(node, list(range(node.axis(axis, rank), rank)), epsilon)[1:]]


def _moments(
    node: Node, axes: list[int], epsilon: float, of: SSAValue | None = None
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """`x - mean`, mean, and `1 / sqrt(variance + epsilon)` of x along `axes`, which are kept."""
    x = node.x() if of is None else of
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


def _group_normalization(node: Node) -> SSAValue:
    """`(x - mean) / sqrt(variance + epsilon) * scale + bias`, the moments over each group of channels.

    x: [N, C, ...], a float dtype. scale and bias: [num_groups] before opset 21, from then on [C].
    From opset 21 on the moments are in the dtype of `stash_type`.
    """
    shape, groups = node.shape(), node.int("num_groups", 0)
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        raise InarchError(
            "expected an input of rank 3 or more whose channels num_groups divides, "
            f"found shape {shape} and num_groups = {groups}"
        )
    count = groups if node.opset < 21 else shape[1]
    for index, name in ((1, "scale"), (2, "bias")):
        if node.shape(index) != (count,):
            raise InarchError(f"expected {name} of shape ({count},), found {node.shape(index)}")
    x, stash = node.x(), element_of(node.x())
    if node.opset >= 21:
        stash = mlir_type(element_dtype(node.int("stash_type", 1)))
    wide = x if element_of(x) == stash else node.emit(CastOp, x, to=stash)
    rows = node.reshape(wide, (shape[0] * groups, shape[1] // groups, *shape[2:]))
    axes, epsilon = list(range(1, len(shape))), node.float("epsilon", 1e-5)
    centred, _, inverse = _moments(node, axes, epsilon, rows)
    normal = node.emit(MulOp, centred, inverse)
    if element_of(x) != stash:
        normal = node.emit(CastOp, normal, to=element_of(x))
    normal = node.reshape(normal, (shape[0], count, shape[1] // count, *shape[2:]))
    column = (1, count, *(1,) * (len(shape) - 1))
    scale, bias = (node.reshape(node.x(index), column) for index in (1, 2))
    return node.reshape(node.emit(AddOp, node.emit(MulOp, normal, scale), bias), shape)


def _lrn(node: Node) -> SSAValue:
    """`x / (bias + alpha / size * sum(x**2))**beta`, over the `size` channels around each."""
    x, shape, size = node.x(), node.shape(), node.int("size", 0)
    if size < 1 or len(shape) < 3:
        raise InarchError(f"expected size >= 1 and rank 3 or more, found {size} and {shape}")
    square = node.reshape(node.emit(MulOp, x, x), (shape[0], 1, shape[1], math.prod(shape[2:])))
    mean = node.emit(
        AvgPoolOp,
        square,
        window=[size, 1],
        strides=[1, 1],
        dilations=[1, 1],
        pads=[(size - 1) // 2, 0, size // 2, 0],
        count_include_pad=True,
    )
    scaled = node.emit(MulOp, mean, node.like(node.float("alpha", 1e-4), x))
    total = node.emit(AddOp, node.reshape(scaled, shape), node.like(node.float("bias", 1.0), x))
    power = node.emit(PowOp, total, node.like(-node.float("beta", 0.75), x))
    return node.emit(MulOp, x, power)


def _lp_normalization(node: Node) -> SSAValue:
    """`x / norm` along an axis; 0 where the norm is 0."""
    x, order = node.x(), node.int("p", 2)
    axis = node.axis(node.int("axis", -1), len(node.shape()))
    if order not in (1, 2):
        raise InarchError(f"expected p = 1 or 2, found {order}")
    parts = node.emit(AbsOp, x) if order == 1 else node.emit(MulOp, x, x)
    norm = node.emit(ReduceSumOp, parts, axes=[axis], keepdims=True)
    norm = norm if order == 1 else node.emit(SqrtOp, norm)
    zero = node.like(0, x)
    return node.emit(SelectOp, node.emit(EqualOp, norm, zero), zero, node.emit(DivOp, x, norm))


CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LRN": _lrn,
    "LayerNormalization": _layer_normalization,
    "LpNormalization": _lp_normalization,
}
