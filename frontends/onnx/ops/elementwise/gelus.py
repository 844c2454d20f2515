"""Gelu, BiasGelu, FastGelu and QuickGelu, of com.microsoft."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.frontends.onnx.contract import Contract, under
from inarch.frontends.onnx.node import Converter, Node

_QUICK = 1.702
"""Of QuickGelu: Hendrycks and Gimpel, arXiv 1606.08415, section 2."""


def _biased(node: Node) -> SSAValue:
    """x, of any shape and a float dtype, and input 1 added to its last axis, if given."""
    x, shape = node.x(0), node.shape(0)
    if not node.has(1):
        return x
    if not shape or node.shape(1) != shape[-1:]:
        raise InarchError(f"expected a bias of shape {shape[-1:]}, found {node.shape(1)}")
    return node.graph.add(x, node.x(1))


def _exact(node: Node) -> SSAValue:
    return node.graph.gelu(_biased(node), approximate="none")


def _fast(node: Node) -> SSAValue:
    return node.graph.gelu(_biased(node), approximate="tanh")


def _quick(node: Node) -> SSAValue:
    """`x * sigmoid(alpha * x)`."""
    x = node.x()
    scaled = node.graph.mul(x, node.float("alpha", _QUICK))
    return node.graph.mul(x, node.graph.sigmoid(scaled))


CONVERTERS: dict[str, Converter] = {
    "com.microsoft.BiasGelu": under(Contract((2, 2)), _exact),
    "com.microsoft.FastGelu": under(Contract((1, 2)), _fast),
    "com.microsoft.Gelu": under(Contract((1, 1)), _exact),
    "com.microsoft.QuickGelu": under(Contract((1, 1), attributes={"alpha": "FLOAT"}), _quick),
}
