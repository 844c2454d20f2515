"""Quantized operators of com.microsoft that are no products: QLinearAdd, QLinearSoftmax, pools, ...

Each computes in f32 what its operands stand for, and quantizes that; one scale and one zero point a tensor.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.elementwise.activation import along
from inarch.frontends.onnx.ops.images.window import average_pool
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type


def _real(node: Node, at: int) -> SSAValue:
    """Input `at` as f32: the next two are its scale and its zero point, which may be left out."""
    dtype = node.dtype(at).name
    if dtype not in ("i8", "ui8"):
        raise NotSupportedError(f"an operand of {dtype}")
    numbers = [_number(node, at + 1), *([_number(node, at + 2)] if node.has(at + 2) else [])]
    return node.graph.dequantize(node.x(at), *numbers)


def _quantized(node: Node, x: SSAValue, at: int, dtype: str) -> SSAValue:
    """X in 8 bits, by the scale that is input `at`, and the zero point behind it, if given."""
    numbers = [_number(node, at), *([_number(node, at + 1)] if node.has(at + 1) else [])]
    return node.graph.quantize(x, *numbers, to=mlir_type(dtype))


def _number(node: Node, index: int) -> SSAValue:
    if node.shape(index) not in ((), (1,)):
        raise NotSupportedError(f"a scale or zero point of shape {node.shape(index)}")
    return node.reshape(node.x(index), ())


def _binary(kind: str) -> Converter:
    """Inputs: A, B and the numbers of the result; A and B broadcast."""

    def convert(node: Node) -> SSAValue:
        found = node.emit(kind, _real(node, 0), _real(node, 3))
        return _quantized(node, found, 6, node.dtype(0).name)

    return convert


def _unary(function: Callable[[Node, SSAValue], SSAValue]) -> Converter:
    """Inputs: x, and the numbers of the result."""

    def convert(node: Node) -> SSAValue:
        return _quantized(node, function(node, _real(node, 0)), 3, node.dtype(0).name)

    return convert


def _sigmoid(node: Node, x: SSAValue) -> SSAValue:
    return node.graph.sigmoid(x)


def _leaky_relu(node: Node, x: SSAValue) -> SSAValue:
    scaled = node.graph.mul(x, node.float("alpha", 0.01))
    return node.graph.select(node.graph.less(x, 0), scaled, x)


def _softmax(node: Node, x: SSAValue) -> SSAValue:
    """As Softmax of the operator set that the attribute `opset` says."""
    return along(node, "softmax", x, node.int("opset", 13))


def _where(node: Node) -> SSAValue:
    """Inputs: a condition, X and Y with their numbers, and the numbers of the result; all broadcast."""
    if node.dtype(0).name != "i1":
        raise InarchError(f"expected a condition of i1, found {node.dtype(0).name}")
    chosen = node.graph.select(node.x(0), _real(node, 1), _real(node, 4))
    return _quantized(node, chosen, 7, node.dtype(1).name)


def _average_pool(node: Node, x: SSAValue) -> SSAValue:
    if node.flag("channels_last", default=False):
        raise NotSupportedError("channels_last")
    return average_pool(node, x)


def _global_average_pool(node: Node, x: SSAValue) -> SSAValue:
    """Over all but batch and channels, which are first, or first and last where `channels_last`."""
    rank = len(shape_of(x))
    first = 1 if node.flag("channels_last", default=False) else 2
    axes = list(range(first, rank - 2 + first))
    return node.graph.reduce_mean(x, axes=axes, keepdims=True)


def _concat(node: Node) -> SSAValue:
    """Inputs: scale and zero point of the result, then each tensor and its two numbers."""
    count, rest = divmod(len(node.inputs) - 2, 3)
    if rest or count < 1:
        raise InarchError(f"expected 2 inputs and 3 of each tensor, found {len(node.inputs)}")
    parts = [_real(node, 2 + 3 * part) for part in range(count)]
    axis = node.axis(node.int("axis", 0), len(shape_of(parts[0])))
    whole = node.graph.concat(*parts, axis=axis) if count > 1 else parts[0]
    return _quantized(node, whole, 0, tensor_dtype(node.x(1)).name)


_POOL = typed(
    INT="ceil_mode channels_last count_include_pad",
    INTS="kernel_shape pads strides",
    STRING="auto_pad",
)

CONVERTERS: dict[str, Converter] = {
    "com.microsoft.QLinearAdd": under(Contract((7, 8)), _binary("add")),
    "com.microsoft.QLinearAveragePool": under(
        Contract((4, 5), attributes=_POOL, required=frozenset({"kernel_shape"})),
        _unary(_average_pool),
    ),
    "com.microsoft.QLinearConcat": under(
        Contract((5, 2**31 - 1), attributes={"axis": "INT"}, required=frozenset({"axis"})), _concat
    ),
    "com.microsoft.QLinearGlobalAveragePool": under(
        Contract((5, 5), attributes={"channels_last": "INT"}), _unary(_global_average_pool)
    ),
    "com.microsoft.QLinearLeakyRelu": under(
        Contract((4, 5), attributes={"alpha": "FLOAT"}), _unary(_leaky_relu)
    ),
    "com.microsoft.QLinearMul": under(Contract((7, 8)), _binary("mul")),
    "com.microsoft.QLinearSigmoid": under(Contract((4, 5)), _unary(_sigmoid)),
    "com.microsoft.QLinearSoftmax": under(
        Contract((5, 5), attributes={"axis": "INT", "opset": "INT"}, required=frozenset({"opset"})),
        _unary(_softmax),
    ),
    "com.microsoft.QLinearWhere": under(Contract((9, 9)), _where),
}
