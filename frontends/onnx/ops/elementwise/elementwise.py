"""Elementwise operators: arithmetic, comparison, logic, Where, and functions of one tensor."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph import operations
from inarch.dialects.graph.elementwise import arithmetic, bitwise, logic
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.op import GraphOp, element_of, shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.ir.types import f64, i64, mlir_type

MAX_POWER = 64
"""Integers to constant powers up to this are multiplied out."""

_NUDGE = 1 + 2.0**-40
"""Takes what is a rounding error below an integer over it, and nothing else of 32 bits."""


def _unary(kind: type[GraphOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, node.x())

    return convert


def _binary(kind: type[GraphOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, *_operands(node))

    return convert


def _variadic(kind: type[GraphOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        return _combine(node, kind)

    return convert


def _combine(node: Node, kind: type[GraphOp]) -> SSAValue:
    result, *rest = [node.x(index) for index in range(len(node.inputs))]
    for value in rest:
        result = node.emit(kind, result, value)
    return result


def _operands(node: Node) -> tuple[SSAValue, SSAValue]:
    """The two operands; before opset 7 the second one could be aligned at an `axis` of the first."""
    a, b = node.x(0), node.x(1)
    if node.opset >= 7 or not node.flag("broadcast", default=False):
        return a, b
    rank, shape = len(shape_of(a)), shape_of(b)
    axis = node.axis(node.int("axis", rank - len(shape)), rank + 1)
    return a, node.reshape(b, (*shape, *(1,) * max(0, rank - axis - len(shape))))


def _mean(node: Node) -> SSAValue:
    total = _combine(node, arithmetic.AddOp)
    return node.emit(arithmetic.DivOp, total, node.like(len(node.inputs), total))


def _mod(node: Node) -> SSAValue:
    """`fmod` takes the sign of the dividend; without it, that of the divisor."""
    a, b, fmod = node.x(0), node.x(1), node.flag("fmod", default=False)
    if fmod or not node.dtype().is_float:
        return node.emit(arithmetic.ModOp, a, b, fmod=fmod)
    rest = node.emit(arithmetic.ModOp, a, b, fmod=True)
    zero = node.like(0, a)
    negative = [node.emit(logic.LessOp, value, zero) for value in (rest, b)]
    differ = node.emit(logic.LogicalXorOp, *negative)
    add = node.emit(logic.LogicalAndOp, differ, node.emit(logic.NotEqualOp, rest, zero))
    return node.emit(SelectOp, add, node.emit(arithmetic.AddOp, rest, b), rest)


def _pow(node: Node) -> SSAValue:
    """The result has the dtype of the base; the exponent may have any."""
    base, exponent = _operands(node)
    if node.dtype(0).is_float:
        return node.emit(arithmetic.PowOp, base, node.cast_like(exponent, base))
    power = node.builder.arrays.get(exponent)
    if power is not None and power.size == 1 and power.dtype.kind in "iu":
        number = int(power.reshape(-1)[0])
        if 0 <= number <= MAX_POWER:
            shape = shape_of(exponent)
            return node.broadcast(_multiply_out(node, base, number), _joint(shape_of(base), shape))
    if not node.dtype(1).is_float:
        whole = node.emit(
            arithmetic.PowOp, *(node.emit(CastOp, value, to=i64) for value in (base, exponent))
        )
        return node.cast_like(whole, base)
    # In double precision every result of 32 bits is exact but for the last bits.
    found = node.emit(
        arithmetic.PowOp, *(node.emit(CastOp, value, to=f64) for value in (base, exponent))
    )
    return node.cast_like(node.emit(arithmetic.MulOp, found, node.like(_NUDGE, found)), base)


def _bit_shift(node: Node) -> SSAValue:
    direction = node.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise InarchError(f"expected direction LEFT or RIGHT, found '{direction}'")
    return node.emit(
        bitwise.ShiftLeftOp if direction == "LEFT" else bitwise.ShiftRightOp, *_operands(node)
    )


def _joint(base: tuple[int, ...], exponent: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast of a base with an exponent of one element."""
    return (*(1,) * (len(exponent) - len(base)), *base)


def _multiply_out(node: Node, base: SSAValue, power: int) -> SSAValue:
    """`base ** power` by squaring."""
    if power == 0:
        return node.broadcast(node.like(1, base), shape_of(base))
    result = base
    for bit in f"{power:b}"[1:]:
        result = node.emit(arithmetic.MulOp, result, result)
        if bit == "1":
            result = node.emit(arithmetic.MulOp, result, base)
    return result


def _where(node: Node) -> SSAValue:
    return node.emit(SelectOp, node.x(0), node.x(1), node.x(2))


def _cast_to(node: Node) -> SSAValue:
    from inarch.frontends.onnx.tensors import element_dtype

    element = mlir_type(element_dtype(node.int("to", 0)))
    value = node.x()
    return value if element_of(value) == element else node.emit(CastOp, value, to=element)


def _cast_like(node: Node) -> SSAValue:
    return node.cast_like(node.x(0), node.x(1))


def _is_nan(node: Node) -> SSAValue:
    return node.emit(logic.NotEqualOp, node.x(), node.x())


def _is_inf(node: Node) -> SSAValue:
    x = node.x()
    positive, negative = (node.flag(f"detect_{s}", default=True) for s in ("positive", "negative"))
    above = node.emit(logic.EqualOp, x, node.like(float("inf" if positive else "nan"), x))
    below = node.emit(logic.EqualOp, x, node.like(float("-inf" if negative else "nan"), x))
    return node.emit(logic.LogicalOrOp, above, below)


_FUNCTIONS = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp",
    "Floor", "Log", "Neg", "Reciprocal", "Round", "Sign", "Sin", "Sinh", "Sqrt", "Tan",
)  # fmt: skip
"""Operators that are called like the op of the graph, and do the same."""

CONVERTERS: dict[str, Converter] = {
    **{name: _unary(operations()[name.lower()]) for name in _FUNCTIONS},
    "Add": _binary(arithmetic.AddOp),
    "Sub": _binary(arithmetic.SubOp),
    "Mul": _binary(arithmetic.MulOp),
    "Div": _binary(arithmetic.DivOp),
    "Mod": _mod,
    "Pow": _pow,
    "Max": _variadic(arithmetic.MaximumOp),
    "Min": _variadic(arithmetic.MinimumOp),
    "Sum": _variadic(arithmetic.AddOp),
    "Mean": _mean,
    "Equal": _binary(logic.EqualOp),
    "Less": _binary(logic.LessOp),
    "LessOrEqual": _binary(logic.LessEqualOp),
    "Greater": _binary(logic.GreaterOp),
    "GreaterOrEqual": _binary(logic.GreaterEqualOp),
    "And": _binary(logic.LogicalAndOp),
    "Or": _binary(logic.LogicalOrOp),
    "Xor": _binary(logic.LogicalXorOp),
    "Not": _unary(logic.LogicalNotOp),
    "BitShift": _bit_shift,
    "BitwiseAnd": _binary(bitwise.BitwiseAndOp),
    "BitwiseNot": _unary(bitwise.BitwiseNotOp),
    "BitwiseOr": _binary(bitwise.BitwiseOrOp),
    "BitwiseXor": _binary(bitwise.BitwiseXorOp),
    "Where": _where,
    "Cast": _cast_to,
    "CastLike": _cast_like,
    "IsInf": _is_inf,
    "IsNaN": _is_nan,
}
