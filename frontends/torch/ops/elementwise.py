"""Operators on each element: arithmetic, comparisons, logic, functions, casts."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES
from inarch.dialects.graph.composites.gelu import GeluOp
from inarch.dialects.graph.elementwise.arithmetic import (
    AddOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    PowOp,
    SubOp,
)
from inarch.dialects.graph.elementwise.bitwise import (
    BitwiseAndOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseXorOp,
)
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
    Expm1Op,
    ExpOp,
    FloorOp,
    Log1pOp,
    LogOp,
    NegOp,
    ReciprocalOp,
    ReluOp,
    RoundOp,
    SigmoidOp,
    SinOp,
    SqrtOp,
    TanhOp,
)
from inarch.dialects.graph.op import GraphOp, tensor_dtype
from inarch.frontends.report import NotSupportedError
from inarch.frontends.torch.node import Converter, Node

_BOOL = DTYPES["i1"]


def _unary(kind: type[GraphOp]) -> Converter:
    """A function of floats is computed in the result's dtype, which integers are promoted to."""

    def convert(node: Node) -> SSAValue:
        return node.emit(kind, node.operand(0, node.dtype))

    return convert


def _binary(kind: type[GraphOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, node.operand(0, node.dtype), node.operand(1, node.dtype))

    return convert


def _scaled(kind: type[GraphOp]) -> Converter:
    """`x + alpha * y`."""

    def convert(node: Node) -> SSAValue:
        y, alpha = node.operand(1, node.dtype), node.arg(2, "alpha", 1)
        if alpha != 1:
            y = node.emit(MulOp, y, node.value(alpha, node.dtype))
        return node.emit(kind, node.operand(0, node.dtype), y)

    return convert


def _comparison(kind: type[GraphOp]) -> Converter:
    """In the dtype of both: of a tensor and a number, in the tensor's."""

    def convert(node: Node) -> SSAValue:
        dtypes = {tensor_dtype(node.x(n)) for n in range(2) if isinstance(node.args[n], SSAValue)}
        if len(dtypes) != 1:
            raise NotSupportedError("different dtypes")
        (dtype,) = dtypes
        return node.emit(kind, node.operand(0, dtype), node.operand(1, dtype))

    return convert


def _logical(kind: type[GraphOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        return node.emit(kind, *(node.operand(n, _BOOL) for n in range(len(node.args))))

    return convert


def _bitwise(kind: type[GraphOp], of_bools: type[GraphOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        operands = [node.operand(n, node.dtype) for n in range(len(node.args))]
        return node.emit(of_bools if node.dtype == _BOOL else kind, *operands)

    return convert


def _pow(node: Node) -> SSAValue:
    """Powers that are products are computed as such."""
    x, power = node.operand(0, node.dtype), node.args[1]
    if power == 2:
        return node.emit(MulOp, x, x)
    if power == 0.5 and node.dtype.is_float:
        return node.emit(SqrtOp, x)
    if not node.dtype.is_float:
        raise NotSupportedError("a power of integers")
    return node.emit(PowOp, x, node.value(power, node.dtype))


def _rsqrt(node: Node) -> SSAValue:
    return node.emit(ReciprocalOp, node.emit(SqrtOp, node.operand(0, node.dtype)))


def _silu(node: Node) -> SSAValue:
    x = node.x()
    return node.emit(MulOp, x, node.emit(SigmoidOp, x))


def _leaky_relu(node: Node) -> SSAValue:
    x = node.x()
    scaled = node.emit(MulOp, x, node.value(node.number(1, "negative_slope", 0.01), node.dtype))
    positive = node.emit(GreaterOp, x, node.value(0, node.dtype))
    return node.emit(SelectOp, positive, x, scaled)


def _gelu(node: Node) -> SSAValue:
    return node.emit(GeluOp, node.x(), approximate=node.arg(1, "approximate", "none"))


def _clamp(node: Node) -> SSAValue:
    x, low, high = node.operand(0, node.dtype), node.arg(1, "min"), node.arg(2, "max")
    if low is not None:
        x = node.emit(MaximumOp, x, node.value(low, node.dtype))
    return x if high is None else node.emit(MinimumOp, x, node.value(high, node.dtype))


def _hardtanh(node: Node) -> SSAValue:
    low, high = node.number(1, "min_val", -1.0), node.number(2, "max_val", 1.0)
    x = node.emit(MaximumOp, node.x(), node.value(low, node.dtype))
    return node.emit(MinimumOp, x, node.value(high, node.dtype))


def _where(node: Node) -> SSAValue:
    values = [node.operand(n, node.dtype) for n in (1, 2)]
    return node.emit(SelectOp, node.operand(0, _BOOL), *values)


def _same(node: Node) -> SSAValue:
    return node.operand(0, node.dtype)


_UNARY: dict[str, type[GraphOp]] = {
    "abs": AbsOp,
    "acos": AcosOp,
    "acosh": AcoshOp,
    "asin": AsinOp,
    "asinh": AsinhOp,
    "atan": AtanOp,
    "atanh": AtanhOp,
    "ceil": CeilOp,
    "cos": CosOp,
    "cosh": CoshOp,
    "erf": ErfOp,
    "exp": ExpOp,
    "expm1": Expm1Op,
    "floor": FloorOp,
    "log": LogOp,
    "log1p": Log1pOp,
    "neg": NegOp,
    "reciprocal": ReciprocalOp,
    "relu": ReluOp,
    "round": RoundOp,
    "sigmoid": SigmoidOp,
    "sin": SinOp,
    "sinh": SinhOp,
    "sqrt": SqrtOp,
    "tan": TanOp,
    "tanh": TanhOp,
}
_COMPARISONS: dict[str, type[GraphOp]] = {
    "eq": EqualOp,
    "ge": GreaterEqualOp,
    "gt": GreaterOp,
    "le": LessEqualOp,
    "lt": LessOp,
    "ne": NotEqualOp,
}
_BOTH = ("Tensor", "Scalar")

CONVERTERS: dict[str, Converter] = {
    **{f"aten.{name}.default": _unary(kind) for name, kind in _UNARY.items()},
    **{f"aten.{n}.{kind}": _comparison(op) for n, op in _COMPARISONS.items() for kind in _BOTH},
    **{f"aten.add.{kind}": _scaled(AddOp) for kind in _BOTH},
    **{f"aten.sub.{kind}": _scaled(SubOp) for kind in _BOTH},
    **{f"aten.mul.{kind}": _binary(MulOp) for kind in _BOTH},
    **{f"aten.div.{kind}": _binary(DivOp) for kind in _BOTH},
    **{f"aten.pow.Tensor_{kind}": _pow for kind in _BOTH},
    "aten.maximum.default": _binary(MaximumOp),
    "aten.minimum.default": _binary(MinimumOp),
    "aten.logical_and.default": _logical(LogicalAndOp),
    "aten.logical_or.default": _logical(LogicalOrOp),
    "aten.logical_xor.default": _logical(LogicalXorOp),
    "aten.logical_not.default": _logical(LogicalNotOp),
    "aten.bitwise_and.Tensor": _bitwise(BitwiseAndOp, LogicalAndOp),
    "aten.bitwise_or.Tensor": _bitwise(BitwiseOrOp, LogicalOrOp),
    "aten.bitwise_xor.Tensor": _bitwise(BitwiseXorOp, LogicalXorOp),
    "aten.bitwise_not.default": _bitwise(BitwiseNotOp, LogicalNotOp),
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
