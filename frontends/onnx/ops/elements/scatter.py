"""ScatterElements, ScatterND, and Scatter, as ScatterElements was called before opset 11."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.places.scatter import STEPS
from inarch.frontends.onnx.node import Converter, Node


def _reduction(node: Node) -> str:
    found = node.text("reduction", "none")
    if found not in STEPS:
        raise InarchError(f"expected a reduction of {', '.join(STEPS)}, found {found}")
    return found


def _elements(node: Node) -> SSAValue:
    axis = node.axis(node.int("axis", 0), len(node.shape()))
    operands = (node.x(0), node.x(1), node.x(2))
    found = node.graph.scatter_elements(*operands, axis=axis, reduction=_reduction(node))
    node.indexes(node.x(1), node.shape()[axis])
    return found


def _nd(node: Node) -> SSAValue:
    operands = (node.x(0), node.x(1), node.x(2))
    found = node.graph.scatter_nd(*operands, reduction=_reduction(node))
    node.indexes(node.x(1), *node.shape()[: node.shape(1)[-1]])
    return found


CONVERTERS: dict[str, Converter] = {
    "Scatter": _elements,
    "ScatterElements": _elements,
    "ScatterND": _nd,
}
