"""Elementwise operators: arithmetic, comparison, logic, Where, and functions of one tensor."""

from __future__ import annotations

from functools import partial, reduce

from xdsl.ir import SSAValue

from inarch.core.dtypes import DType, float_limits
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.tensors import element_dtype
from inarch.ir.types import f64, i64

MAX_POWER = 64
"""Integers to constant powers up to this are multiplied out."""

_NUDGE = 1 + 2.0**-40
"""Takes what is a rounding error below an integer over it, and nothing else of 32 bits."""


def _unary(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, node.x())

    return convert


def _binary(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, *_operands(node))

    return convert


def _variadic(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return _combine(node, kind)

    return convert


def _combine(node: Node, kind: str) -> SSAValue:
    return reduce(partial(node.emit, kind), map(node.x, range(len(node.inputs))))


def _operands(node: Node) -> tuple[SSAValue, SSAValue]:
    """The two operands; before opset 7 the second one could be aligned at an `axis` of the first."""
    a, b = node.x(0), node.x(1)
    if node.opset >= 7 or not node.flag("broadcast", default=False):
        return a, b
    rank, shape = len(shape_of(a)), shape_of(b)
    axis = node.axis(node.int("axis", rank - len(shape)), rank + 1)
    return a, node.reshape(b, (*shape, *(1,) * max(0, rank - axis - len(shape))))


def _mean(node: Node) -> SSAValue:
    total = _combine(node, "add")
    return node.graph.div(total, len(node.inputs))


def _mod(node: Node) -> SSAValue:
    """`fmod` takes the sign of the dividend; without it, that of the divisor."""
    a, b, fmod = node.x(0), node.x(1), node.flag("fmod", default=False)
    if fmod or not node.dtype().is_float:
        return node.graph.mod(a, b, fmod=fmod)
    rest = node.graph.mod(a, b, fmod=True)
    zero = node.like(0, a)
    negative = [node.graph.less(value, zero) for value in (rest, b)]
    differ = node.graph.logical_xor(*negative)
    add = node.graph.logical_and(differ, node.graph.not_equal(rest, zero))
    return node.graph.select(add, node.graph.add(rest, b), rest)


def _pow(node: Node) -> SSAValue:
    """The result has the dtype of the base; the exponent may have any."""
    base, exponent = _operands(node)
    if node.dtype(0).is_float:
        return node.graph.pow(base, node.cast_like(exponent, base))
    power = node.builder.arrays.get(exponent)
    if power is not None and power.size == 1 and power.dtype.kind in "iu":
        number = int(power.reshape(-1)[0])
        if 0 <= number <= MAX_POWER:
            shape = shape_of(exponent)
            return node.broadcast(_multiply_out(node, base, number), _joint(shape_of(base), shape))
    if not node.dtype(1).is_float:
        whole = node.graph.pow(*(node.graph.cast(value, to=i64) for value in (base, exponent)))
        return node.cast_like(whole, base)
    # In double precision every result of 32 bits is exact but for the last bits.
    found = node.graph.pow(*(node.graph.cast(value, to=f64) for value in (base, exponent)))
    return node.cast_like(node.graph.mul(found, _NUDGE), base)


def _bit_shift(node: Node) -> SSAValue:
    direction = node.choice("direction", ("LEFT", "RIGHT"), "")
    return node.emit("shift_left" if direction == "LEFT" else "shift_right", *_operands(node))


def _joint(base: tuple[int, ...], exponent: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast of a base with an exponent of one element."""
    return (*(1,) * (len(exponent) - len(base)), *base)


def _multiply_out(node: Node, base: SSAValue, power: int) -> SSAValue:
    """`base ** power` by squaring."""
    if power == 0:
        return node.broadcast(node.like(1, base), shape_of(base))
    result = base
    for bit in f"{power:b}"[1:]:
        result = node.graph.mul(result, result)
        if bit == "1":
            result = node.graph.mul(result, base)
    return result


def _where(node: Node) -> SSAValue:
    return node.graph.select(node.x(0), node.x(1), node.x(2))


def _cast_to(node: Node) -> SSAValue:
    return saturated_cast(node, node.x(), element_dtype(node.int("to", 0)))


def _cast_like(node: Node) -> SSAValue:
    return saturated_cast(node, node.x(0), node.dtype(1))


def saturated_cast(node: Node, value: SSAValue, dtype: DType) -> SSAValue:
    """`value` in another dtype; one of eight bits has its largest number for all that are larger.

    So ONNX wants it unless the attribute `saturate` is 0.
    """
    if dtype.is_stored and dtype.bits == 8 and node.flag("saturate", default=True):
        if tensor_dtype(value) == dtype:
            return value
        most = float_limits(np.dtype(dtype.numpy)).most
        wide = node.cast(value, dtype.arithmetic)
        value = node.graph.maximum(node.graph.minimum(wide, most), -most)
    return node.cast(value, dtype)


def _is_nan(node: Node) -> SSAValue:
    return node.graph.not_equal(node.x(), node.x())


def _is_inf(node: Node) -> SSAValue:
    x = node.x()
    positive, negative = (node.flag(f"detect_{s}", default=True) for s in ("positive", "negative"))
    above = node.graph.equal(x, float("inf" if positive else "nan"))
    below = node.graph.equal(x, float("-inf" if negative else "nan"))
    return node.graph.logical_or(above, below)


_FUNCTIONS = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp",
    "Floor", "Log", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan",
    "Tanh",
)  # fmt: skip
"""Operators that are called like the op of the graph, and do the same."""

CONVERTERS: dict[str, Converter] = {
    **{name: _unary(name.lower()) for name in _FUNCTIONS},
    "Add": _binary("add"),
    "Sub": _binary("sub"),
    "Mul": _binary("mul"),
    "Div": _binary("div"),
    "Mod": _mod,
    "Pow": _pow,
    "Max": _variadic("maximum"),
    "Min": _variadic("minimum"),
    "Sum": _variadic("add"),
    "Mean": _mean,
    "Equal": _binary("equal"),
    "Less": _binary("less"),
    "LessOrEqual": _binary("less_equal"),
    "Greater": _binary("greater"),
    "GreaterOrEqual": _binary("greater_equal"),
    "And": _binary("logical_and"),
    "Or": _binary("logical_or"),
    "Xor": _binary("logical_xor"),
    "Not": _unary("logical_not"),
    "BitShift": _bit_shift,
    "BitwiseAnd": _binary("bitwise_and"),
    "BitwiseNot": _unary("bitwise_not"),
    "BitwiseOr": _binary("bitwise_or"),
    "BitwiseXor": _binary("bitwise_xor"),
    "Where": _where,
    "Cast": _cast_to,
    "CastLike": _cast_like,
    "IsInf": _is_inf,
    "IsNaN": _is_nan,
}
