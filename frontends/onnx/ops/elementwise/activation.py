"""Activations: Relu, Clip, Sigmoid, Tanh, Gelu, Softmax ..."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.number import number_property
from inarch.dialects.graph.op import element_of, shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.ir.types import f64


def _clip(node: Node) -> SSAValue:
    """`min(max(x, low), high)`; the limits are attributes before opset 11, then optional inputs."""
    x = node.x()
    if node.opset < 11:
        given = {"low": "min", "high": "max"}
        limits = {
            ours: node.float(name, 0.0) for ours, name in given.items() if node.has_attribute(name)
        }
        return node.graph.clip(x, **limits) if limits else x
    given = [(index, name) for index, name in ((1, "low"), (2, "high")) if node.has(index)]
    if all(node.x(index) in node.builder.arrays for index, _ in given):
        limits = {name: node.scalar(index, name) for index, name in given}
        if limits and all(math.isfinite(value) for value in limits.values()):
            return node.graph.clip(x, **{n: number_property(v) for n, v in limits.items()})
    if node.has(1):
        x = node.graph.maximum(x, _limit(node, 1))
    return node.graph.minimum(x, _limit(node, 2)) if node.has(2) else x


def _limit(node: Node, index: int) -> SSAValue:
    """A limit, which is one number, of shape ()."""
    shape = node.shape(index)
    if math.prod(shape) != 1:
        raise InarchError(f"expected a limit of one element, found shape {shape}")
    return node.reshape(node.x(index), ())


def _negative(node: Node, if_negative: SSAValue) -> SSAValue:
    """`if_negative` where x < 0, else x."""
    x = node.x()
    return node.graph.select(node.graph.less(x, 0), if_negative, x)


def _leaky_relu(node: Node) -> SSAValue:
    x = node.x()
    return _negative(node, node.graph.mul(x, node.float("alpha", 0.01)))


def _prelu(node: Node) -> SSAValue:
    x, slope = node.x(0), node.x(1)
    shape, rank = shape_of(slope), len(shape_of(x))
    if node.opset < 7 and len(shape) == 1 and rank > 2:  # one slope a channel
        slope = node.reshape(slope, (*shape, *(1,) * (rank - 2)))
    return _negative(node, node.graph.mul(x, slope))


def _exponential(node: Node, alpha: float) -> SSAValue:
    """`alpha * (exp(x) - 1)`."""
    x = node.x()
    return node.graph.mul(node.graph.expm1(x), alpha)


def _elu(node: Node) -> SSAValue:
    return _negative(node, _exponential(node, node.float("alpha", 1.0)))


def _selu(node: Node) -> SSAValue:
    """Klambauer et al. 2017; the defaults are those of ONNX Selu-6, which rounds them to f32."""
    negative = _negative(node, _exponential(node, node.float("alpha", 1.67326319217681884765625)))
    return node.graph.mul(negative, node.float("gamma", 1.05070102214813232421875))


def _softplus(node: Node) -> SSAValue:
    """`ln(1 + exp(x)) = max(x, 0) + ln(1 + exp(-|x|))`, which does not overflow."""
    x = node.x()
    small = node.graph.exp(node.graph.neg(node.graph.abs(x)))
    return node.graph.add(node.graph.relu(x), node.graph.log1p(small))


def _softsign(node: Node) -> SSAValue:
    x = node.x()
    return node.graph.div(x, node.graph.add(node.graph.abs(x), 1))


def _hard(node: Node, alpha: float, beta: float) -> SSAValue:
    """`min(max(alpha * x + beta, 0), 1)`."""
    x = node.x()
    scaled = node.graph.mul(x, alpha)
    return node.graph.clip(node.graph.add(scaled, beta), low=0.0, high=1.0)


def _hard_sigmoid(node: Node) -> SSAValue:
    return _hard(node, node.float("alpha", 0.2), node.float("beta", 0.5))


def _hard_swish(node: Node) -> SSAValue:
    return node.graph.mul(node.x(), _hard(node, 1 / 6, 0.5))


def _gelu(node: Node) -> SSAValue:
    return node.graph.gelu(node.x(), approximate=node.text("approximate", "none"))


def _softmax_like(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        return along(node, kind, node.x(), node.opset)

    return convert


def along(node: Node, kind: str, x: SSAValue, opset: int) -> SSAValue:
    """An op of rows, such as `softmax`, along the attribute `axis`, as that operator set has it."""
    shape = shape_of(x)
    axis = node.axis(node.int("axis", -1 if opset >= 13 else 1), len(shape))
    if opset >= 13 or axis == len(shape) - 1:
        return node.emit(kind, x, axis=axis)
    # Before opset 13, everything from the axis on is one row.
    rows = (math.prod(shape[:axis]), math.prod(shape[axis:]))
    return node.reshape(node.emit(kind, node.reshape(x, rows), axis=1), shape)


def _celu(node: Node) -> SSAValue:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` (Barron 2017), and -0 of -0.

    Not by ONNX's definition, whose constant of shape [1] makes a vector of a scalar.
    """
    x = node.x()
    alpha = node.like(node.float("alpha", 1.0), x)
    below = node.graph.mul(alpha, node.graph.expm1(node.graph.div(x, alpha)))
    return _negative(node, below)


def _thresholded_relu(node: Node) -> SSAValue:
    """`x` where it is above alpha, else 0."""
    x = node.x()
    above = node.graph.less(node.float("alpha", 1.0), x)
    return node.graph.select(above, x, 0)


def _shrink(node: Node) -> SSAValue:
    """`x + bias` below `-lambd`, `x - bias` above `lambd`, and 0 between them."""
    x, dtype = node.x(), node.dtype()
    bias, limit = node.float("bias", 0.0), node.float("lambd", 0.5)
    if not dtype.is_float:
        return _shrink_integers(node, bias, limit)
    below = node.graph.less(x, -limit)
    above = node.graph.less(limit, x)
    upper = node.graph.select(above, node.graph.sub(x, bias), 0)
    return node.graph.select(below, node.graph.add(x, bias), upper)


def _shrink_integers(node: Node, bias: float, limit: float) -> SSAValue:
    """The same where the limits are no values of the dtype: in f64, exact to 2**53, and back."""
    x = node.x()
    wide = node.graph.cast(x, to=f64)
    below = node.graph.less(wide, -limit)
    above = node.graph.less(limit, wide)
    zero = node.like(0, wide)
    upper = node.graph.select(above, node.graph.sub(wide, bias), zero)
    found = node.graph.select(below, node.graph.add(wide, bias), upper)
    return node.graph.cast(found, to=element_of(x))


CONVERTERS: dict[str, Converter] = {
    "Celu": _celu,
    "Clip": _clip,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LeakyRelu": _leaky_relu,
    "LogSoftmax": _softmax_like("log_softmax"),
    "PRelu": _prelu,
    "Selu": _selu,
    "Shrink": _shrink,
    "Softmax": _softmax_like("softmax"),
    "Softplus": _softplus,
    "Softsign": _softsign,
    "ThresholdedRelu": _thresholded_relu,
}
