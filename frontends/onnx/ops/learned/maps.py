"""ZipMap, of ai.onnx.ml, which makes maps: refused, with what to do."""

from __future__ import annotations

from inarch.frontends.onnx.node import Converter, Node, Values
from inarch.frontends.report import NotSupportedError


def _zip_map(node: Node) -> Values:
    del node
    raise NotSupportedError(
        "maps; take the scores that it maps, or export without it: zipmap=False"
    )


CONVERTERS: dict[str, Converter] = {"ai.onnx.ml.ZipMap": _zip_map}
