"""Operators on positions: ArgMax, ArgMin, Hardmax, OneHot, Trilu, GatherElements."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import element_of, shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.ir.types import i64


def _positions(node: Node, size: int, axis: int, rank: int) -> SSAValue:
    """0, 1, ... along `axis`, of size 1 along all others."""
    shape = [size if d == axis else 1 for d in range(rank)]
    node.room(size)
    return node.constant(np.arange(size, dtype=np.int64).reshape(shape))


def _arg(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        axis = node.axis(node.int("axis", 0), len(node.shape()))
        keepdims = node.flag("keepdims", default=True)
        last = node.flag("select_last_index", default=False)
        return node.emit(kind, node.x(), axis=axis, keepdims=keepdims, last=last)

    return convert


def _hardmax(node: Node) -> SSAValue:
    """1 at the first maximum, 0 elsewhere; before opset 13 everything from the axis on is a row."""
    x, shape = node.x(), node.shape()
    axis = node.axis(node.int("axis", -1 if node.opset >= 13 else 1), len(shape))
    rows = shape if node.opset >= 13 else (math.prod(shape[:axis]), math.prod(shape[axis:]))
    axis = axis if node.opset >= 13 else 1
    first = node.graph.argmax(node.reshape(x, rows), axis=axis, keepdims=True)
    hot = node.graph.equal(first, _positions(node, rows[axis], axis, len(rows)))
    return node.reshape(node.graph.cast(hot, to=element_of(x)), shape)


def _one_hot(node: Node) -> SSAValue:
    """`values[1]` where the index is the position along the new axis, else `values[0]`."""
    depth = int(node.scalar(1, "depth"))
    if depth < 1:
        raise InarchError(f"expected depth >= 1, found {depth}")
    if node.shape(2) != (2,):
        raise InarchError(f"expected two values, off and on, found shape {node.shape(2)}")
    shape = node.shape()
    axis = node.axis(node.int("axis", -1), len(shape) + 1)
    indices = node.reshape(node.graph.cast(node.x(), to=i64), (*shape[:axis], 1, *shape[axis:]))
    indices = _from_front(node, indices, depth)
    hot = node.graph.equal(indices, _positions(node, depth, axis, len(shape) + 1))
    off, on = (
        node.graph.gather(node.x(2), node.constant(np.array(index, "int64")), axis=0)
        for index in (0, 1)
    )
    return node.graph.select(hot, on, off)


def _trilu(node: Node) -> SSAValue:
    """The upper (or lower) triangle from diagonal k on; the rest is 0."""
    shape = node.shape()
    if len(shape) < 2:
        raise InarchError(f"expected rank 2 or more, found shape {shape}")
    k = int(node.scalar(1, "k")) if node.has(1) else 0
    k = max(-shape[-2] - 1, min(k, shape[-1] + 1))  # farther diagonals are outside all the same
    node.room(*shape[-2:], itemsize=1)
    ones = np.ones(shape[-2:], np.bool_)
    kept = np.triu(ones, k) if node.flag("upper", default=True) else np.tril(ones, k)
    return node.graph.select(node.constant(kept), node.x(), 0)


def _from_front(node: Node, indices: SSAValue, size: int) -> SSAValue:
    """Indices that may count from the end, as ones that count from the front."""
    negative = node.graph.less(indices, 0)
    wrapped = node.graph.add(indices, size)
    return node.graph.select(negative, wrapped, indices)


def _gather_elements(node: Node) -> SSAValue:
    """`out[i] = data[i with i[axis] = indices[i]]`: a gather of the flat data."""
    data, shape = node.shape(0), node.shape(1)
    axis = node.axis(node.int("axis", 0), len(data))
    fits = len(data) == len(shape) and all(
        found <= size for d, (found, size) in enumerate(zip(shape, data, strict=True)) if d != axis
    )
    if not fits:
        raise InarchError(
            f"expected indices within {data} but for axis {axis}, found shape {shape}"
        )
    node.indexes(node.x(1), data[axis])
    strides = [math.prod(data[d + 1 :]) for d in range(len(data))]
    chosen = _from_front(node, node.graph.cast(node.x(1), to=i64), data[axis])
    flat = node.graph.mul(chosen, strides[axis])
    for d, size in enumerate(shape):
        if d != axis and size > 1:
            node.room(size)
            steps = np.arange(size, dtype=np.int64) * strides[d]
            steps = steps.reshape([size if e == d else 1 for e in range(len(shape))])
            flat = node.graph.add(flat, node.constant(steps))
    values = node.reshape(node.x(0), (math.prod(data),))
    return node.reshape(node.graph.gather(values, flat, axis=0), shape_of(node.x(1)))


def _gather_nd(node: Node) -> SSAValue:
    """Each row of the indices names a place in the first dimensions behind the batch dimensions."""
    data, indices, batch = node.shape(0), node.shape(1), node.int("batch_dims", 0)
    depth = indices[-1] if indices else 0
    fits = 0 <= batch < min(len(data), len(indices)) and 1 <= depth <= len(data) - batch
    if not fits or data[:batch] != indices[:batch]:
        raise InarchError(
            f"expected indices of {batch} batch dimensions and of rows that fit into {data}, "
            f"found shape {indices}"
        )
    named, rest = data[batch : batch + depth], data[batch + depth :]
    node.indexes(node.x(1), *named)
    chosen = node.graph.cast(node.x(1), to=i64)
    sizes = node.constant(np.array(named, np.int64))
    negative = node.graph.less(chosen, 0)
    chosen = node.graph.select(negative, node.graph.add(chosen, sizes), chosen)
    strides = np.array([math.prod(named[d + 1 :]) for d in range(depth)], np.int64)
    scaled = node.graph.mul(chosen, node.constant(strides))
    flat = node.graph.reduce_sum(scaled, axes=[len(indices) - 1], keepdims=False)
    if batch:
        node.room(*data[:batch])
        steps = np.arange(math.prod(data[:batch]), dtype=np.int64) * math.prod(named)
        ones = [1] * (len(indices) - 1 - batch)
        flat = node.graph.add(flat, node.constant(steps.reshape([*data[:batch], *ones])))
    values = node.reshape(node.x(0), (math.prod(data[:batch]) * math.prod(named), *rest))
    return node.graph.gather(values, flat, axis=0)


CONVERTERS: dict[str, Converter] = {
    "ArgMax": _arg("argmax"),
    "ArgMin": _arg("argmin"),
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Hardmax": _hardmax,
    "OneHot": _one_hot,
    "Trilu": _trilu,
}
