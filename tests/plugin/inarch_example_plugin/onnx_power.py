"""The ONNX operator `Square` of the domain `com.example`."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.frontends.onnx.node import Node
from inarch_example_plugin.power.square import SquareOp


def _square(node: Node) -> SSAValue:
    return node.emit(SquareOp, node.x())


CONVERTERS = {"com.example.Square": _square}
