"""Operators on each element: arithmetic, comparisons, logic, functions, casts."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES
from inarch.dialects.graph.op import tensor_dtype
from inarch.frontends.report import NotSupportedError
from inarch.frontends.torch.node import Converter, Node

_BOOL = DTYPES["i1"]


def _unary(kind: str) -> Converter:
    """A function of floats is computed in the result's dtype, which integers are promoted to."""

    def convert(node: Node) -> SSAValue:
        return node.emit(kind, node.operand(0, node.dtype))

    return convert


def _binary(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, node.operand(0, node.dtype), node.operand(1, node.dtype))

    return convert


def _scaled(kind: str) -> Converter:
    """`x + alpha * y`."""

    def convert(node: Node) -> SSAValue:
        y, alpha = node.operand(1, node.dtype), node.arg(2, "alpha", 1)
        if alpha != 1:
            y = node.graph.mul(y, node.value(alpha, node.dtype))
        return node.emit(kind, node.operand(0, node.dtype), y)

    return convert


def _comparison(kind: str) -> Converter:
    """In the dtype of both: of a tensor and a number, in the tensor's."""

    def convert(node: Node) -> SSAValue:
        dtypes = {tensor_dtype(node.x(n)) for n in range(2) if isinstance(node.args[n], SSAValue)}
        if len(dtypes) != 1:
            raise NotSupportedError("different dtypes")
        (dtype,) = dtypes
        return node.emit(kind, node.operand(0, dtype), node.operand(1, dtype))

    return convert


def _logical(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, *(node.operand(n, _BOOL) for n in range(len(node.args))))

    return convert


def _bitwise(kind: str, of_bools: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        operands = [node.operand(n, node.dtype) for n in range(len(node.args))]
        return node.emit(of_bools if node.dtype == _BOOL else kind, *operands)

    return convert


def _pow(node: Node) -> SSAValue:
    """Powers that are products are computed as such."""
    x, power = node.operand(0, node.dtype), node.args[1]
    if power == 2:
        return node.graph.mul(x, x)
    if power == 0.5 and node.dtype.is_float:
        return node.graph.sqrt(x)
    if not node.dtype.is_float:
        raise NotSupportedError("a power of integers")
    return node.graph.pow(x, node.value(power, node.dtype))


def _rsqrt(node: Node) -> SSAValue:
    return node.graph.reciprocal(node.graph.sqrt(node.operand(0, node.dtype)))


def _silu(node: Node) -> SSAValue:
    x = node.x()
    return node.graph.mul(x, node.graph.sigmoid(x))


def _leaky_relu(node: Node) -> SSAValue:
    x = node.x()
    scaled = node.graph.mul(x, node.value(node.number(1, "negative_slope", 0.01), node.dtype))
    positive = node.graph.greater(x, node.value(0, node.dtype))
    return node.graph.select(positive, x, scaled)


def _gelu(node: Node) -> SSAValue:
    return node.graph.gelu(node.x(), approximate=node.arg(1, "approximate", "none"))


def _clamp(node: Node) -> SSAValue:
    x, low, high = node.operand(0, node.dtype), node.arg(1, "min"), node.arg(2, "max")
    if low is not None:
        x = node.graph.maximum(x, node.value(low, node.dtype))
    return x if high is None else node.graph.minimum(x, node.value(high, node.dtype))


def _hardtanh(node: Node) -> SSAValue:
    low, high = node.number(1, "min_val", -1.0), node.number(2, "max_val", 1.0)
    x = node.graph.maximum(node.x(), node.value(low, node.dtype))
    return node.graph.minimum(x, node.value(high, node.dtype))


def _where(node: Node) -> SSAValue:
    values = [node.operand(n, node.dtype) for n in (1, 2)]
    return node.graph.select(node.operand(0, _BOOL), *values)


def _same(node: Node) -> SSAValue:
    return node.operand(0, node.dtype)


_UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp",
    "expm1", "floor", "log", "log1p", "neg", "reciprocal", "relu", "round", "sigmoid", "sin",
    "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
"""Operators that are called like the op of the graph, and do the same."""
_COMPARISONS: dict[str, str] = {
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
}
_BOTH = ("Tensor", "Scalar")

CONVERTERS: dict[str, Converter] = {
    **{f"aten.{name}.default": _unary(name) for name in _UNARY},
    **{f"aten.{n}.{kind}": _comparison(op) for n, op in _COMPARISONS.items() for kind in _BOTH},
    **{f"aten.add.{kind}": _scaled("add") for kind in _BOTH},
    **{f"aten.sub.{kind}": _scaled("sub") for kind in _BOTH},
    **{f"aten.mul.{kind}": _binary("mul") for kind in _BOTH},
    **{f"aten.div.{kind}": _binary("div") for kind in _BOTH},
    **{f"aten.pow.Tensor_{kind}": _pow for kind in _BOTH},
    "aten.maximum.default": _binary("maximum"),
    "aten.minimum.default": _binary("minimum"),
    "aten.logical_and.default": _logical("logical_and"),
    "aten.logical_or.default": _logical("logical_or"),
    "aten.logical_xor.default": _logical("logical_xor"),
    "aten.logical_not.default": _logical("logical_not"),
    "aten.bitwise_and.Tensor": _bitwise("bitwise_and", "logical_and"),
    "aten.bitwise_or.Tensor": _bitwise("bitwise_or", "logical_or"),
    "aten.bitwise_xor.Tensor": _bitwise("bitwise_xor", "logical_xor"),
    "aten.bitwise_not.default": _bitwise("bitwise_not", "logical_not"),
    "aten.rsqrt.default": _rsqrt,
    "aten.silu.default": _silu,
    "aten.leaky_relu.default": _leaky_relu,
    "aten.gelu.default": _gelu,
    "aten.clamp.default": _clamp,
    "aten.hardtanh.default": _hardtanh,
    "aten.where.self": _where,
    "aten._to_copy.default": _same,
    "aten.alias.default": _same,
    "aten.clone.default": _same,
    "aten.detach.default": _same,
    "aten.lift_fresh_copy.default": _same,
}
