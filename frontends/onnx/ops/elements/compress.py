"""Compress: the elements, or slices, for which a constant condition is true."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.gather import GatherOp
from inarch.frontends.onnx.node import Converter, Node


def _compress(node: Node) -> SSAValue:
    """`x` at the places along the axis where the condition, [count], is true; without one, of flat x."""
    shape, x = node.shape(), node.x()
    condition = node.array(1, "condition")  # the size of the result depends on it
    axis = 0
    if node.has_attribute("axis"):
        axis = node.axis(node.int("axis", 0), len(shape))
    else:
        x = node.reshape(x, (math.prod(shape),))
        shape = (math.prod(shape),)
    if condition.ndim != 1 or condition.size > shape[axis]:
        raise InarchError(
            f"expected a condition of at most {shape[axis]} elements, found shape {condition.shape}"
        )
    places = np.flatnonzero(condition).astype(np.int64)
    return node.emit(GatherOp, x, node.constant(places), axis=axis)


CONVERTERS: dict[str, Converter] = {"Compress": _compress}
