"""Normalizations at inference: Batch-, Layer-, Group-, Instance- and LpNormalization, and LRN."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import element_of
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
    return node.graph.batch_norm(*operands, epsilon=node.float("epsilon", 1e-5))


def _layer_normalization(node: Node) -> Sequence[SSAValue]:
    axis, epsilon = node.int("axis", -1), node.float("epsilon", 1e-5)
    operands = [node.x(index) for index in range(3) if index < 2 or node.has(index)]
    result = node.graph.layer_norm(*operands, axis=axis, epsilon=epsilon)
    if node.outputs == 1:
        return [result]
    rank = len(node.shape())
    return [result, *_moments(node, list(range(node.axis(axis, rank), rank)), epsilon)[1:]]


def _moments(
    node: Node, axes: list[int], epsilon: float, of: SSAValue | None = None
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """`x - mean`, mean, and `1 / sqrt(variance + epsilon)` of x along `axes`, which are kept."""
    x = node.x() if of is None else of
    mean = node.graph.reduce_mean(x, axes=axes, keepdims=True)
    centred = node.graph.sub(x, mean)
    square = node.graph.mul(centred, centred)
    variance = node.graph.reduce_mean(square, axes=axes, keepdims=True)
    deviation = node.graph.sqrt(node.graph.add(variance, epsilon))
    return centred, mean, node.graph.reciprocal(deviation)


def _instance_normalization(node: Node) -> SSAValue:
    """Each channel of each element of the batch by itself."""
    shape = node.shape()
    centred, _, inverse = _moments(node, list(range(2, len(shape))), node.float("epsilon", 1e-5))
    per_channel = (shape[1], *(1,) * (len(shape) - 2)) if len(shape) > 1 else shape
    scale, bias = (node.reshape(node.x(index), per_channel) for index in (1, 2))
    scaled = node.graph.mul(node.graph.mul(centred, inverse), scale)
    return node.graph.add(scaled, bias)


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
    wide = x if element_of(x) == stash else node.graph.cast(x, to=stash)
    rows = node.reshape(wide, (shape[0] * groups, shape[1] // groups, *shape[2:]))
    axes, epsilon = list(range(1, len(shape))), node.float("epsilon", 1e-5)
    centred, _, inverse = _moments(node, axes, epsilon, rows)
    normal = node.graph.mul(centred, inverse)
    if element_of(x) != stash:
        normal = node.graph.cast(normal, to=element_of(x))
    normal = node.reshape(normal, (shape[0], count, shape[1] // count, *shape[2:]))
    column = (1, count, *(1,) * (len(shape) - 1))
    scale, bias = (node.reshape(node.x(index), column) for index in (1, 2))
    return node.reshape(node.graph.add(node.graph.mul(normal, scale), bias), shape)


def _lrn(node: Node) -> SSAValue:
    """`x / (bias + alpha / size * sum(x**2))**beta`, over the `size` channels around each."""
    x, shape, size = node.x(), node.shape(), node.int("size", 0)
    if size < 1 or len(shape) < 3:
        raise InarchError(f"expected size >= 1 and rank 3 or more, found {size} and {shape}")
    square = node.reshape(node.graph.mul(x, x), (shape[0], 1, shape[1], math.prod(shape[2:])))
    mean = node.graph.avg_pool(
        square,
        window=[size, 1],
        strides=[1, 1],
        dilations=[1, 1],
        pads=[(size - 1) // 2, 0, size // 2, 0],
        count_include_pad=True,
    )
    scaled = node.graph.mul(mean, node.float("alpha", 1e-4))
    total = node.graph.add(node.reshape(scaled, shape), node.float("bias", 1.0))
    power = node.graph.pow(total, -node.float("beta", 0.75))
    return node.graph.mul(x, power)


def _lp_normalization(node: Node) -> SSAValue:
    """`x / norm` along an axis; 0 where the norm is 0."""
    x, order = node.x(), node.int("p", 2)
    axis = node.axis(node.int("axis", -1), len(node.shape()))
    if order not in (1, 2):
        raise InarchError(f"expected p = 1 or 2, found {order}")
    parts = node.graph.abs(x) if order == 1 else node.graph.mul(x, x)
    norm = node.graph.reduce_sum(parts, axes=[axis], keepdims=True)
    norm = norm if order == 1 else node.graph.sqrt(norm)
    zero = node.like(0, x)
    return node.graph.select(node.graph.equal(norm, zero), zero, node.graph.div(x, norm))


CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LRN": _lrn,
    "LayerNormalization": _layer_normalization,
    "LpNormalization": _lp_normalization,
}
