"""CumSum and CumProd: along one axis, which is a constant."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.frontends.onnx.node import Converter, Node


def _cumulative(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        found = node.numbers(1, "axis")
        if len(found) != 1:
            raise InarchError(f"expected one axis, found {found}")
        return node.emit(
            kind,
            node.x(),
            axis=node.axis(found[0], len(node.shape())),
            exclusive=node.flag("exclusive", default=False),
            reverse=node.flag("reverse", default=False),
        )

    return convert


CONVERTERS: dict[str, Converter] = {
    "CumProd": _cumulative("cumprod"),
    "CumSum": _cumulative("cumsum"),
}
