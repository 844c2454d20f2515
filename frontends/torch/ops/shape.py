"""Operators that move elements or make them: views, concatenations, slices, constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.number import number_property
from inarch.dialects.graph.op import shape_of
from inarch.frontends.torch.node import Converter, Node


def _reshaped(node: Node) -> SSAValue:
    """The result's shape is known: sizes of -1 and axes of 1 are no matter."""
    return node.reshape(node.x(), node.result.shape)


def _expand(node: Node) -> SSAValue:
    return node.broadcast(node.x(), node.result.shape)


def _permute(node: Node) -> SSAValue:
    rank = len(node.shape())
    perm = [node.axis(axis, rank) for axis in node.ints(1, "dims")]
    return _transposed(node, perm)


def _transpose(node: Node) -> SSAValue:
    rank = len(node.shape())
    a, b = (node.axis(int(node.number(n, f"dim{n - 1}")), rank) for n in (1, 2))
    perm = list(range(rank))
    perm[a], perm[b] = b, a
    return _transposed(node, perm)


def _t(node: Node) -> SSAValue:
    return _transposed(node, list(range(len(node.shape())))[::-1])


def _transposed(node: Node, perm: Sequence[int]) -> SSAValue:
    is_same = list(perm) == sorted(perm)
    return node.x() if is_same else node.graph.transpose(node.x(), perm=list(perm))


def _cat(node: Node) -> SSAValue:
    parts = [node.cast(each, node.dtype) for each in node.tensors()]
    rank = len(node.result.shape)
    parts = [part for part in parts if len(shape_of(part)) == rank]  # of old, empty ones join any
    return node.graph.concat(*parts, axis=node.axis(int(node.number(1, "dim", 0)), rank))


def _slice(node: Node) -> SSAValue:
    shape = node.shape()
    axis = node.axis(int(node.number(1, "dim", 0)), len(shape))
    bounds = [node.arg(n, name) for n, name in ((2, "start"), (3, "end"))]
    if not all(each is None or type(each) is int for each in bounds):
        raise InarchError(f"expected bounds that are integers, found {bounds}")
    whole = slice(bounds[0], bounds[1], int(node.number(4, "step", 1)))
    start, end, step = whole.indices(shape[axis])
    return node.part(node.x(), axis, start, len(range(start, end, step)), step)


def _select(node: Node) -> SSAValue:
    shape = node.shape()
    axis = node.axis(int(node.number(1, "dim")), len(shape))
    index = node.axis(int(node.number(2, "index")), shape[axis])
    return node.reshape(node.part(node.x(), axis, index, 1), node.result.shape)


def _split(node: Node) -> Sequence[SSAValue | None]:
    sizes = node.ints(1, "split_sizes")
    axis = node.axis(int(node.number(2, "dim", 0)), len(node.shape()))
    starts = np.cumsum([0, *sizes]).tolist()
    return [
        node.part(node.x(), axis, start, size) if number in node.used else None
        for number, (start, size) in enumerate(zip(starts, sizes, strict=False))
    ]


def _pad(node: Node) -> SSAValue:
    rank, pads = len(node.shape()), node.ints(1, "pad")
    low, high = [0] * rank, [0] * rank
    for number in range(len(pads) // 2):  # from the last axis on
        low[rank - 1 - number], high[rank - 1 - number] = pads[2 * number : 2 * number + 2]
    if min(pads, default=0) < 0:
        raise InarchError(f"expected pads >= 0, found {pads}")
    value = number_property(node.number(2, "value", 0))
    return node.graph.pad(node.x(), low=low, high=high, value=value)


def _filled(index: int) -> Converter:
    def convert(node: Node) -> SSAValue:
        value = node.value(node.arg(index, "fill_value", 0), node.dtype)
        return node.broadcast(value, node.result.shape)

    return convert


def _arange(node: Node) -> SSAValue:
    bounds: list[Any] = [node.number(0, "start"), node.number(1, "end"), node.number(2, "step", 1)]
    return node.constant(np.arange(*bounds, dtype=np.dtype(node.dtype.numpy)))


def _embedding(node: Node) -> SSAValue:
    node.indexes(node.x(1), node.shape()[0], wraps=False)
    return node.graph.gather(node.x(0), node.x(1), axis=0)


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(
        (
            "aten.view.default",
            "aten._unsafe_view.default",
            "aten.reshape.default",
            "aten.squeeze.dim",
            "aten.squeeze.dims",
            "aten.squeeze.default",
            "aten.unsqueeze.default",
        ),
        _reshaped,
    ),
    "aten.expand.default": _expand,
    "aten.permute.default": _permute,
    "aten.transpose.int": _transpose,
    "aten.t.default": _t,
    "aten.cat.default": _cat,
    "aten.slice.Tensor": _slice,
    "aten.select.int": _select,
    "aten.split_with_sizes.default": _split,
    "aten.constant_pad_nd.default": _pad,
    "aten.full.default": _filled(1),
    "aten.full_like.default": _filled(1),
    "aten.scalar_tensor.default": _filled(0),
    "aten.arange.start_step": _arange,
    "aten.embedding.default": _embedding,
}
