"""DepthToSpace and SpaceToDepth: blocks of pixels as channels, and back.

onnx defines them by other operators from opset 28 on only.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.frontends.onnx.node import Converter, Node


def _block(node: Node) -> int:
    """The size of a block, and a check of what both operators demand."""
    block, shape = node.int("blocksize", 0), node.shape()
    if block < 1:
        raise InarchError(f"expected blocksize >= 1, found {block}")
    if len(shape) != 4:
        raise InarchError(f"expected an input [N, C, H, W], found shape {shape}")
    node.choice("mode", ("DCR", "CRD"), "DCR")
    return block


def _depth_to_space(node: Node) -> SSAValue:
    b = _block(node)
    n, c, h, w = node.shape()
    if c % (b * b):
        raise InarchError(f"expected a multiple of {b * b} channels, found {c}")
    depth = c // (b * b)
    is_first = node.text("mode", "DCR") == "CRD"
    split = (n, depth, b, b, h, w) if is_first else (n, b, b, depth, h, w)
    perm = [0, 1, 4, 2, 5, 3] if is_first else [0, 3, 4, 1, 5, 2]
    moved = node.graph.transpose(node.reshape(node.x(), split), perm=perm)
    return node.reshape(moved, (n, depth, h * b, w * b))


def _space_to_depth(node: Node) -> SSAValue:
    b = _block(node)
    n, c, h, w = node.shape()
    if h % b or w % b:
        raise InarchError(f"expected an image of a multiple of {b} pixels each way, found {h}x{w}")
    perm = [0, 1, 3, 5, 2, 4] if node.text("mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    split = node.reshape(node.x(), (n, c, h // b, b, w // b, b))
    moved = node.graph.transpose(split, perm=perm)
    return node.reshape(moved, (n, c * b * b, h // b, w // b))


CONVERTERS: dict[str, Converter] = {
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
}
