"""DynamicQuantizeLinear; and of com.microsoft products of 8 bits that become floats."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.contract import Contract, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.products._dynamic import quantized, scaled_product, weights
from inarch.frontends.report import NotSupportedError


def _dynamic_quantize_linear(node: Node) -> list[SSAValue]:
    """X in 8 bits, its scale and its zero point. Of zeros the scale is 1, as onnxruntime's; ONNX's is 0."""
    y, scale, point = quantized(node, node.x())
    assert point is not None, "it is asymmetric"
    return [y, scale, point]


def _dynamic_quantize_matmul(node: Node) -> SSAValue:
    """`quantized(A) @ B`, f32; inputs 2 to 4: scale and zero point of B, and a bias, [columns]."""
    _check_ranks(node)
    if node.dtype(0).name != "f32":
        raise NotSupportedError(f"A of {node.dtype(0).name}")
    b = weights(node, node.x(1), node.x(2), node.x(3) if node.has(3) else None, "B")
    return _biased(node, scaled_product(node, quantized(node, node.x(0)), b), 4)


def _matmul_integer_to_float(node: Node) -> SSAValue:
    """`A @ B`, f32, of 8 bits; inputs 2 to 6: both scales, both zero points, and a bias, [columns]."""
    _check_ranks(node)
    numbers = [node.x(2), *([node.x(4)] if node.has(4) else [])]
    if any(shape_of(number) not in ((), (1,)) for number in numbers):
        raise NotSupportedError("scales or zero points of the rows of A")
    scale, *zero = [node.reshape(number, ()) for number in numbers]
    a = weights(node, node.x(0), scale, zero[0] if zero else None, "A")
    b = weights(node, node.x(1), node.x(3), node.x(5) if node.has(5) else None, "B")
    return _biased(node, scaled_product(node, a, b), 6)


def _check_ranks(node: Node) -> None:
    if min(len(node.shape(0)), len(node.shape(1))) < 2:
        raise NotSupportedError("an operand of rank 1")


def _biased(node: Node, product: SSAValue, bias: int) -> SSAValue:
    if not node.has(bias):
        return product
    columns = shape_of(product)[-1]
    if node.shape(bias) != (columns,):
        raise InarchError(f"expected a bias of shape ({columns},), found {node.shape(bias)}")
    return node.graph.add(product, node.x(bias))


CONVERTERS: dict[str, Converter] = {
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
    "com.microsoft.DynamicQuantizeMatMul": under(Contract((3, 5)), _dynamic_quantize_matmul),
    "com.microsoft.MatMulIntegerToFloat": under(Contract((4, 7)), _matmul_integer_to_float),
}
