"""Sums, means, extrema along axes; softmax and normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.report import NotSupportedError
from inarch.frontends.torch.node import Converter, Node

_BYTE, _BOOL = DTYPES["ui8"], DTYPES["i1"]


def _axes(node: Node, index: int) -> list[int]:
    """The axes of argument `index`; all where none are said."""
    rank = len(node.shape())
    return node.axes(node.ints(index, "dim"), rank) or list(range(rank))


def _reduced(node: Node, kind: str, x: SSAValue, axes: Sequence[int]) -> SSAValue:
    keepdims = bool(node.arg(2, "keepdim", False))
    if not shape_of(x):
        return x
    return node.emit(kind, x, axes=list(axes), keepdims=keepdims)


def _along(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return _reduced(node, kind, node.operand(0, node.dtype), _axes(node, 1))

    return convert


def _over_all(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return _reduced(node, kind, node.operand(0, node.dtype), range(len(node.shape())))

    return convert


def _any(node: Node) -> SSAValue:
    """The largest of bytes of 0 and 1."""
    x = node.cast(node.operand(0, _BOOL), _BYTE)
    return node.cast(_reduced(node, "reduce_max", x, _axes(node, 1)), _BOOL)


def _softmax(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        if node.arg(2, "half_to_float", False) or not node.shape():
            raise NotSupportedError("another dtype, or no axis")
        return node.emit(kind, node.x(), axis=int(node.number(1, "dim")))

    return convert


def _layer_norm(node: Node) -> Sequence[SSAValue | None]:
    """`x, normalized_shape, weight, bias, eps`; the mean and 1 / deviation are for the way back."""
    x, rank = node.x(), len(node.shape())
    inner = node.ints(1, "normalized_shape")
    axis, epsilon = rank - len(inner), float(node.number(4, "eps"))
    scale = node.x(2) if node.has(2) else node.constant(np.ones(inner, node.dtype.numpy))
    bias = [node.x(3)] if node.has(3) else []
    out = node.graph.layer_norm(x, scale, *bias, axis=axis, epsilon=epsilon)
    if not node.used & {1, 2}:
        return [out, None, None]
    axes = list(range(axis, rank))
    mean = node.graph.reduce_mean(x, axes=axes, keepdims=True)
    centred = node.graph.sub(x, mean)
    square = node.graph.mul(centred, centred)
    variance = node.graph.reduce_mean(square, axes=axes, keepdims=True)
    shifted = node.graph.add(variance, node.value(epsilon, tensor_dtype(variance)))
    return [out, mean, node.graph.reciprocal(node.graph.sqrt(shifted))]


def _batch_norm(node: Node) -> Sequence[SSAValue | None]:
    """`x, weight, bias, mean, var, momentum, eps`: with the statistics that are known."""
    channels, dtype = node.shape()[1], node.dtype.numpy
    scale = node.x(1) if node.has(1) else node.constant(np.ones(channels, dtype))
    bias = node.x(2) if node.has(2) else node.constant(np.zeros(channels, dtype))
    operands = [node.x(0), scale, bias, node.x(3), node.x(4)]
    out = node.graph.batch_norm(*operands, epsilon=float(node.number(6, "eps")))
    return [out, None, None]


CONVERTERS: dict[str, Converter] = {
    "aten.mean.dim": _along("reduce_mean"),
    "aten.mean.default": _over_all("reduce_mean"),
    "aten.sum.dim_IntList": _along("reduce_sum"),
    "aten.sum.default": _over_all("reduce_sum"),
    "aten.amax.default": _along("reduce_max"),
    "aten.amin.default": _along("reduce_min"),
    "aten.any.dim": _any,
    "aten._softmax.default": _softmax("softmax"),
    "aten._log_softmax.default": _softmax("log_softmax"),
    "aten.native_layer_norm.default": _layer_norm,
    "aten._native_batch_norm_legit_no_training.default": _batch_norm,
}
