"""Activations: Relu, Clip, Sigmoid, Tanh, Gelu, Softmax ..."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.composites.gelu import GeluOp
from inarch.dialects.graph.composites.softmax import LogSoftmaxOp, SoftmaxOp
from inarch.dialects.graph.elementwise.arithmetic import (
    AddOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    SubOp,
)
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.elementwise.logic import LessOp
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.elementwise.unary import (
    AbsOp,
    Expm1Op,
    ExpOp,
    Log1pOp,
    NegOp,
    ReluOp,
    SigmoidOp,
    TanhOp,
)
from inarch.dialects.graph.number import number_property
from inarch.dialects.graph.op import element_of, shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.ir.types import f64


def _relu(node: Node) -> SSAValue:
    return node.emit(ReluOp, node.x())


def _sigmoid(node: Node) -> SSAValue:
    return node.emit(SigmoidOp, node.x())


def _tanh(node: Node) -> SSAValue:
    return node.emit(TanhOp, node.x())


def _clip(node: Node) -> SSAValue:
    """`min(max(x, low), high)`; the limits are attributes before opset 11, then optional inputs."""
    x = node.x()
    if node.opset < 11:
        given = {"low": "min", "high": "max"}
        limits = {
            ours: node.float(name, 0.0) for ours, name in given.items() if node.has_attribute(name)
        }
        return node.emit(ClipOp, x, **limits) if limits else x
    given = [(index, name) for index, name in ((1, "low"), (2, "high")) if node.has(index)]
    if all(node.x(index) in node.builder.arrays for index, _ in given):
        limits = {name: node.scalar(index, name) for index, name in given}
        if limits and all(math.isfinite(value) for value in limits.values()):
            return node.emit(ClipOp, x, **{n: number_property(v) for n, v in limits.items()})
    if node.has(1):
        x = node.emit(MaximumOp, x, _limit(node, 1))
    return node.emit(MinimumOp, x, _limit(node, 2)) if node.has(2) else x


def _limit(node: Node, index: int) -> SSAValue:
    """A limit, which is one number, of shape ()."""
    shape = node.shape(index)
    if math.prod(shape) != 1:
        raise InarchError(f"expected a limit of one element, found shape {shape}")
    return node.reshape(node.x(index), ())


def _negative(node: Node, if_negative: SSAValue) -> SSAValue:
    """`if_negative` where x < 0, else x."""
    x = node.x()
    return node.emit(SelectOp, node.emit(LessOp, x, node.like(0, x)), if_negative, x)


def _leaky_relu(node: Node) -> SSAValue:
    x = node.x()
    return _negative(node, node.emit(MulOp, x, node.like(node.float("alpha", 0.01), x)))


def _prelu(node: Node) -> SSAValue:
    x, slope = node.x(0), node.x(1)
    shape, rank = shape_of(slope), len(shape_of(x))
    if node.opset < 7 and len(shape) == 1 and rank > 2:  # one slope a channel
        slope = node.reshape(slope, (*shape, *(1,) * (rank - 2)))
    return _negative(node, node.emit(MulOp, x, slope))


def _exponential(node: Node, alpha: float) -> SSAValue:
    """`alpha * (exp(x) - 1)`."""
    x = node.x()
    return node.emit(MulOp, node.emit(Expm1Op, x), node.like(alpha, x))


def _elu(node: Node) -> SSAValue:
    return _negative(node, _exponential(node, node.float("alpha", 1.0)))


def _selu(node: Node) -> SSAValue:
    """Klambauer et al. 2017; the defaults are those of ONNX Selu-6, which rounds them to f32."""
    negative = _negative(node, _exponential(node, node.float("alpha", 1.67326319217681884765625)))
    return node.emit(
        MulOp, negative, node.like(node.float("gamma", 1.05070102214813232421875), node.x())
    )


def _softplus(node: Node) -> SSAValue:
    """`ln(1 + exp(x)) = max(x, 0) + ln(1 + exp(-|x|))`, which does not overflow."""
    x = node.x()
    small = node.emit(ExpOp, node.emit(NegOp, node.emit(AbsOp, x)))
    return node.emit(AddOp, node.emit(ReluOp, x), node.emit(Log1pOp, small))


def _softsign(node: Node) -> SSAValue:
    x = node.x()
    return node.emit(DivOp, x, node.emit(AddOp, node.emit(AbsOp, x), node.like(1, x)))


def _hard(node: Node, alpha: float, beta: float) -> SSAValue:
    """`min(max(alpha * x + beta, 0), 1)`."""
    x = node.x()
    scaled = node.emit(MulOp, x, node.like(alpha, x))
    return node.emit(ClipOp, node.emit(AddOp, scaled, node.like(beta, x)), low=0.0, high=1.0)


def _hard_sigmoid(node: Node) -> SSAValue:
    return _hard(node, node.float("alpha", 0.2), node.float("beta", 0.5))


def _hard_swish(node: Node) -> SSAValue:
    return node.emit(MulOp, node.x(), _hard(node, 1 / 6, 0.5))


def _gelu(node: Node) -> SSAValue:
    return node.emit(GeluOp, node.x(), approximate=node.text("approximate", "none"))


def _softmax_like(kind: type[SoftmaxOp | LogSoftmaxOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        x, shape = node.x(), node.shape()
        axis = node.axis(node.int("axis", -1 if node.opset >= 13 else 1), len(shape))
        if node.opset >= 13 or axis == len(shape) - 1:
            return node.emit(kind, x, axis=axis)
        # Before opset 13, everything from the axis on is one row.
        rows = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        return node.reshape(node.emit(kind, node.reshape(x, rows), axis=1), shape)

    return convert


def _celu(node: Node) -> SSAValue:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` (Barron 2017), and -0 of -0.

    Not by ONNX's definition, whose constant of shape [1] makes a vector of a scalar.
    """
    x = node.x()
    alpha = node.like(node.float("alpha", 1.0), x)
    below = node.emit(MulOp, alpha, node.emit(Expm1Op, node.emit(DivOp, x, alpha)))
    return _negative(node, below)


def _thresholded_relu(node: Node) -> SSAValue:
    """`x` where it is above alpha, else 0."""
    x = node.x()
    above = node.emit(LessOp, node.like(node.float("alpha", 1.0), x), x)
    return node.emit(SelectOp, above, x, node.like(0, x))


def _shrink(node: Node) -> SSAValue:
    """`x + bias` below `-lambd`, `x - bias` above `lambd`, and 0 between them."""
    x, dtype = node.x(), node.dtype()
    bias, limit = node.float("bias", 0.0), node.float("lambd", 0.5)
    if not dtype.is_float:
        return _shrink_integers(node, bias, limit)
    below = node.emit(LessOp, x, node.like(-limit, x))
    above = node.emit(LessOp, node.like(limit, x), x)
    upper = node.emit(SelectOp, above, node.emit(SubOp, x, node.like(bias, x)), node.like(0, x))
    return node.emit(SelectOp, below, node.emit(AddOp, x, node.like(bias, x)), upper)


def _shrink_integers(node: Node, bias: float, limit: float) -> SSAValue:
    """The same where the limits are no values of the dtype: in f64, exact to 2**53, and back."""
    x = node.x()
    wide = node.emit(CastOp, x, to=f64)
    below = node.emit(LessOp, wide, node.like(-limit, wide))
    above = node.emit(LessOp, node.like(limit, wide), wide)
    zero = node.like(0, wide)
    upper = node.emit(SelectOp, above, node.emit(SubOp, wide, node.like(bias, wide)), zero)
    found = node.emit(SelectOp, below, node.emit(AddOp, wide, node.like(bias, wide)), upper)
    return node.emit(CastOp, found, to=element_of(x))


CONVERTERS: dict[str, Converter] = {
    "Celu": _celu,
    "Clip": _clip,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LeakyRelu": _leaky_relu,
    "LogSoftmax": _softmax_like(LogSoftmaxOp),
    "PRelu": _prelu,
    "Relu": _relu,
    "Selu": _selu,
    "Shrink": _shrink,
    "Sigmoid": _sigmoid,
    "Softmax": _softmax_like(SoftmaxOp),
    "Softplus": _softplus,
    "Softsign": _softsign,
    "Tanh": _tanh,
    "ThresholdedRelu": _thresholded_relu,
}
