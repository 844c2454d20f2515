"""QAttention, of com.microsoft: Attention whose input and weights are of 8 bits."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.products._dynamic import scaled_product, weights
from inarch.frontends.onnx.ops.products.attention import attended, projections, refuse
from inarch.frontends.report import NotSupportedError

_CONTRACT = Contract(
    inputs=(5, 9),
    outputs=(1, 2),
    attributes=typed(
        FLOAT="mask_filter_value scale",
        INT="do_rotary num_heads past_present_share_buffer unidirectional",
    ),
    required=frozenset({"num_heads"}),
)


def _attention(node: Node) -> SSAValue:
    """`softmax(Q K' scale + mask) V`, f32, of `Q, K, V = (x - zx) sx @ (w - zw) sw + bias`.

    Inputs: x [batch, steps, width] and w [width, 3 hidden], of i8 or ui8; bias [3 hidden], f32; sx, a number;
    sw, one or [3 hidden]; mask, as of Attention; zx and zw, as sx and sw. The products with w are exact.
    """
    refuse(node, {8: "past"})
    sizes = projections(node)
    for index, what in ((0, "an input"), (1, "weights")):
        if node.dtype(index).name not in ("i8", "ui8"):
            raise NotSupportedError(f"{what} of {node.dtype(index).name}")
    batch, steps, width = node.shape(0)
    numbers = [node.x(3), *([node.x(6)] if node.has(6) else [])]
    if any(shape_of(number) not in ((), (1,)) for number in numbers):
        raise NotSupportedError("several scales or zero points of the input")
    scale, *zero = [node.reshape(number, ()) for number in numbers]
    rows = node.reshape(node.x(0), (batch * steps, width))
    x = weights(node, rows, scale, zero[0] if zero else None, "the input")
    w = weights(node, node.x(1), node.x(4), node.x(7) if node.has(7) else None, "the weights")
    return attended(node, scaled_product(node, x, w), sizes, mask=5, added=None)


CONVERTERS: dict[str, Converter] = {
    "com.microsoft.QAttention": under(_CONTRACT, _attention),
}
