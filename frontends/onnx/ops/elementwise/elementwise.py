"""Elementwise operators: arithmetic, comparison, logic, Where, and functions of one tensor."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.elementwise.arithmetic import (
    AddOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    ModOp,
    MulOp,
    PowOp,
    SubOp,
)
from inarch.dialects.graph.elementwise.bitwise import (
    BitwiseAndOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseXorOp,
    ShiftLeftOp,
    ShiftRightOp,
)
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.logic import (
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    LogicalXorOp,
    NotEqualOp,
)
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.elementwise.trigonometry import (
    AcoshOp,
    AcosOp,
    AsinhOp,
    AsinOp,
    AtanhOp,
    AtanOp,
    CoshOp,
    SinhOp,
    TanOp,
)
from inarch.dialects.graph.elementwise.unary import (
    AbsOp,
    CeilOp,
    CosOp,
    ErfOp,
    ExpOp,
    FloorOp,
    LogOp,
    NegOp,
    ReciprocalOp,
    RoundOp,
    SignOp,
    SinOp,
    SqrtOp,
)
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
    total = _combine(node, AddOp)
    return node.emit(DivOp, total, node.like(len(node.inputs), total))


def _mod(node: Node) -> SSAValue:
    """`fmod` takes the sign of the dividend; without it, that of the divisor."""
    a, b, fmod = node.x(0), node.x(1), node.flag("fmod", default=False)
    if fmod or not node.dtype().is_float:
        return node.emit(ModOp, a, b, fmod=fmod)
    rest = node.emit(ModOp, a, b, fmod=True)
    zero = node.like(0, a)
    negative = [node.emit(LessOp, value, zero) for value in (rest, b)]
    differ = node.emit(LogicalXorOp, *negative)
    add = node.emit(LogicalAndOp, differ, node.emit(NotEqualOp, rest, zero))
    return node.emit(SelectOp, add, node.emit(AddOp, rest, b), rest)


def _pow(node: Node) -> SSAValue:
    """The result has the dtype of the base; the exponent may have any."""
    base, exponent = _operands(node)
    if node.dtype(0).is_float:
        return node.emit(PowOp, base, node.cast_like(exponent, base))
    power = node.builder.arrays.get(exponent)
    if power is not None and power.size == 1 and power.dtype.kind in "iu":
        number = int(power.reshape(-1)[0])
        if 0 <= number <= MAX_POWER:
            shape = shape_of(exponent)
            return node.broadcast(_multiply_out(node, base, number), _joint(shape_of(base), shape))
    if not node.dtype(1).is_float:
        whole = node.emit(PowOp, *(node.emit(CastOp, value, to=i64) for value in (base, exponent)))
        return node.cast_like(whole, base)
    # In double precision every result of 32 bits is exact but for the last bits.
    found = node.emit(PowOp, *(node.emit(CastOp, value, to=f64) for value in (base, exponent)))
    return node.cast_like(node.emit(MulOp, found, node.like(_NUDGE, found)), base)


def _bit_shift(node: Node) -> SSAValue:
    direction = node.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise InarchError(f"expected direction LEFT or RIGHT, found '{direction}'")
    return node.emit(ShiftLeftOp if direction == "LEFT" else ShiftRightOp, *_operands(node))


def _joint(base: tuple[int, ...], exponent: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast of a base with an exponent of one element."""
    return (*(1,) * (len(exponent) - len(base)), *base)


def _multiply_out(node: Node, base: SSAValue, power: int) -> SSAValue:
    """`base ** power` by squaring."""
    if power == 0:
        return node.broadcast(node.like(1, base), shape_of(base))
    result = base
    for bit in f"{power:b}"[1:]:
        result = node.emit(MulOp, result, result)
        if bit == "1":
            result = node.emit(MulOp, result, base)
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
    return node.emit(NotEqualOp, node.x(), node.x())


def _is_inf(node: Node) -> SSAValue:
    x = node.x()
    positive, negative = (node.flag(f"detect_{s}", default=True) for s in ("positive", "negative"))
    above = node.emit(EqualOp, x, node.like(float("inf" if positive else "nan"), x))
    below = node.emit(EqualOp, x, node.like(float("-inf" if negative else "nan"), x))
    return node.emit(LogicalOrOp, above, below)


CONVERTERS: dict[str, Converter] = {
    "Add": _binary(AddOp),
    "Sub": _binary(SubOp),
    "Mul": _binary(MulOp),
    "Div": _binary(DivOp),
    "Mod": _mod,
    "Pow": _pow,
    "Max": _variadic(MaximumOp),
    "Min": _variadic(MinimumOp),
    "Sum": _variadic(AddOp),
    "Mean": _mean,
    "Equal": _binary(EqualOp),
    "Less": _binary(LessOp),
    "LessOrEqual": _binary(LessEqualOp),
    "Greater": _binary(GreaterOp),
    "GreaterOrEqual": _binary(GreaterEqualOp),
    "And": _binary(LogicalAndOp),
    "Or": _binary(LogicalOrOp),
    "Xor": _binary(LogicalXorOp),
    "Not": _unary(LogicalNotOp),
    "BitShift": _bit_shift,
    "BitwiseAnd": _binary(BitwiseAndOp),
    "BitwiseNot": _unary(BitwiseNotOp),
    "BitwiseOr": _binary(BitwiseOrOp),
    "BitwiseXor": _binary(BitwiseXorOp),
    "Where": _where,
    "Cast": _cast_to,
    "CastLike": _cast_like,
    "Abs": _unary(AbsOp),
    "Acos": _unary(AcosOp),
    "Acosh": _unary(AcoshOp),
    "Asin": _unary(AsinOp),
    "Asinh": _unary(AsinhOp),
    "Atan": _unary(AtanOp),
    "Atanh": _unary(AtanhOp),
    "Ceil": _unary(CeilOp),
    "Cos": _unary(CosOp),
    "Cosh": _unary(CoshOp),
    "Erf": _unary(ErfOp),
    "Exp": _unary(ExpOp),
    "Floor": _unary(FloorOp),
    "IsInf": _is_inf,
    "IsNaN": _is_nan,
    "Log": _unary(LogOp),
    "Neg": _unary(NegOp),
    "Reciprocal": _unary(ReciprocalOp),
    "Round": _unary(RoundOp),
    "Sign": _unary(SignOp),
    "Sin": _unary(SinOp),
    "Sinh": _unary(SinhOp),
    "Sqrt": _unary(SqrtOp),
    "Tan": _unary(TanOp),
}
