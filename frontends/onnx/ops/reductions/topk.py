"""TopK: k is an attribute before opset 10, and from then on an input that must be known."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.frontends.onnx.node import Converter, Node


def _top_k(node: Node) -> Sequence[SSAValue]:
    """Values and indices; they are in order where `sorted` does not ask for it, too."""
    shape = node.shape()
    axis = node.axis(node.int("axis", -1), len(shape))
    if node.opset >= 10:
        found = node.numbers(1, "K")
        if len(found) != 1:
            raise InarchError(f"expected one K, found {found}")
        (k,) = found
    else:
        k = node.int("k", -1)
    largest = node.flag("largest", default=True)
    return node.emit_all("topk", node.x(), k=k, axis=axis, largest=largest)


CONVERTERS: dict[str, Converter] = {"TopK": _top_k}
