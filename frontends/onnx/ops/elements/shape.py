"""Operators that keep all elements: Reshape, Transpose, Squeeze, Expand, Tile, Identity, Dropout ..."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import broadcast
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError


def _identity(node: Node) -> SSAValue:
    return node.x()


def _dropout(node: Node) -> Sequence[SSAValue]:
    """The identity, at inference; its mask is all true."""
    if node.opset < 7 and not node.flag("is_test", default=False):
        raise NotSupportedError("training mode")
    if node.opset >= 12 and node.has(2) and node.scalar(2, "training_mode"):
        raise NotSupportedError("training mode")
    if node.outputs == 1:
        return [node.x()]
    true = node.constant(np.array(True)) if node.opset >= 10 else node.like(1, node.x())
    return [node.x(), node.broadcast(true, node.shape())]


def _reshape(node: Node) -> SSAValue:
    """A size of 0 keeps that of the input (unless `allowzero`); one of -1 takes what is left."""
    old, new = node.shape(), node.numbers(1, "shape")
    if not node.flag("allowzero", default=False):
        if any(size == 0 and axis >= len(old) for axis, size in enumerate(new)):
            raise InarchError(f"expected sizes of 0 within rank {len(old)}, found {new}")
        new = [old[axis] if size == 0 else size for axis, size in enumerate(new)]
    if new.count(-1) > 1 or min(new, default=0) < -1:
        raise InarchError(f"expected sizes with at most one -1, found {new}")
    rest = math.prod(size for size in new if size != -1)
    if -1 in new and rest and math.prod(old) % rest == 0:
        new = [math.prod(old) // rest if size == -1 else size for size in new]
    if -1 in new or math.prod(new) != math.prod(old):
        raise InarchError(f"expected a shape for {math.prod(old)} elements, found {new}")
    return node.reshape(node.x(), new)


def _flatten(node: Node) -> SSAValue:
    shape = node.shape()
    axis = node.int("axis", 1)
    axis = axis if axis == len(shape) else node.axis(axis, len(shape)) if shape else 0
    return node.reshape(node.x(), (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _squeeze(node: Node) -> SSAValue:
    shape = node.shape()
    given = _axes(node)
    axes = (
        [axis for axis, size in enumerate(shape) if size == 1]
        if given is None
        else node.axes(given, len(shape))
    )
    if any(shape[axis] != 1 for axis in axes):
        raise InarchError(f"expected size 1 along axes {axes}, found shape {shape}")
    return node.reshape(node.x(), [n for axis, n in enumerate(shape) if axis not in axes])


def _unsqueeze(node: Node) -> SSAValue:
    given = _axes(node)
    if given is None:
        raise InarchError("expected axes, found none")
    rest = iter(node.shape())
    rank = len(node.shape()) + len(given)
    axes = node.axes(given, rank)
    return node.reshape(node.x(), [1 if axis in axes else next(rest) for axis in range(rank)])


def _axes(node: Node) -> list[int] | None:
    """The axes, an attribute before opset 13; None when they are left out."""
    if node.opset < 13:
        return node.ints("axes") if node.has_attribute("axes") else None
    return node.numbers(1, "axes") if node.has(1) else None


def _transpose(node: Node) -> SSAValue:
    rank = len(node.shape())
    perm = node.ints("perm", range(rank - 1, -1, -1))
    if perm == list(range(rank)):
        return node.x()
    return node.graph.transpose(node.x(), perm=perm)


def _expand(node: Node) -> SSAValue:
    """Broadcasts both ways: a size of 1 in the wanted shape keeps that of the input."""
    wanted = node.numbers(1, "shape")
    shape = broadcast(node.shape(), wanted)
    if shape is None or min(wanted, default=0) < 0:
        raise InarchError(f"shape {node.shape()} does not broadcast to {wanted}")
    return node.broadcast(node.x(), shape)


def _tile(node: Node) -> SSAValue:
    """Repeats in a new dimension before each, which then become one."""
    shape, repeats = node.shape(), node.numbers(1, "repeats")
    if len(repeats) != len(shape) or min(repeats, default=0) < 0:
        raise InarchError(f"expected {len(shape)} repeats >= 0, found {repeats}")
    pairs = list(zip(repeats, shape, strict=True))
    split = node.reshape(node.x(), [n for _, size in pairs for n in (1, size)])
    repeated = node.broadcast(split, [n for pair in pairs for n in pair])
    return node.reshape(repeated, [count * size for count, size in pairs])


CONVERTERS: dict[str, Converter] = {
    "Dropout": _dropout,
    "Expand": _expand,
    "Flatten": _flatten,
    "Identity": _identity,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
