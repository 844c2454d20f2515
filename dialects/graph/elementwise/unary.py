"""Elementwise functions of one tensor: neg, abs, sign, relu, exp, log, expm1, sqrt, ..., round."""

from __future__ import annotations

from typing import ClassVar

from inarch.core.lazy import np
from inarch.dialects.graph.elementwise import UnaryNumberOp, UnaryOp, evaluate
from inarch.dialects.graph.op import Array
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition


@op_definition
class NegOp(UnaryNumberOp):
    """`out[i] = -x[i]`; floats and integers; integers wrap."""


@op_definition
class AbsOp(UnaryNumberOp):
    """`out[i] = |x[i]|`; floats and integers; the lowest integer gives itself."""


@op_definition
class SignOp(UnaryNumberOp):
    """`out[i] = -1, 0 or 1`, the sign of x[i]; floats and integers; NaN gives NaN, -0.0 gives 0."""

    def scalar(self, x: Scalar) -> Scalar:
        positive = x.equal(0).select(0, x.not_equal(x).select(x, 1))  # NaN differs from itself
        return positive if x.dtype.is_unsigned else x.less(0).select(-1, positive)

    def reference(self, x: Array) -> Array:
        return evaluate(np.sign, x)


@op_definition
class ReluOp(UnaryNumberOp):
    """`out[i] = max(x[i], 0)`; floats and integers; NaN gives NaN, -0.0 a zero of either sign."""


@op_definition
class ExpOp(UnaryOp):
    """`out[i] = e ** x[i]`; floats."""


@op_definition
class LogOp(UnaryOp):
    """`out[i] = ln x[i]`; floats; -inf at 0, NaN below."""


@op_definition
class Expm1Op(UnaryOp):
    """`out[i] = e ** x[i] - 1`, with all its digits where x[i] is near 0; floats."""


@op_definition
class Log1pOp(UnaryOp):
    """`out[i] = ln(1 + x[i])`, with all its digits where x[i] is near 0; floats; -inf at -1, NaN below."""


@op_definition
class SqrtOp(UnaryOp):
    """`out[i] = x[i] ** 0.5`, correctly rounded; floats; NaN below 0."""


@op_definition
class ReciprocalOp(UnaryOp):
    """`out[i] = 1 / x[i]`; floats."""

    def scalar(self, x: Scalar) -> Scalar:
        return 1 / x

    def reference(self, x: Array) -> Array:
        return evaluate(np.reciprocal, x)


@op_definition
class ErfOp(UnaryOp):
    """`out[i] = 2 / sqrt(pi) * integral of exp(-t**2) for t from 0 to x[i]`; floats."""


@op_definition
class TanhOp(UnaryOp):
    """`out[i] = tanh x[i]`; floats."""


@op_definition
class SigmoidOp(UnaryOp):
    """`out[i] = 1 / (1 + exp(-x[i]))`; floats.

    Where `exp(-x)` is beyond the dtype (f32: x below -88.7) the result is 0, not a denormal number.
    """

    def scalar(self, x: Scalar) -> Scalar:
        return 1 / (1 + (-x).function("exp"))

    def reference(self, x: Array) -> Array:
        return evaluate(_sigmoid, x)


def _sigmoid(x: Array) -> Array:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


@op_definition
class SinOp(UnaryOp):
    """`out[i] = sin x[i]`, x in radians; floats."""


@op_definition
class CosOp(UnaryOp):
    """`out[i] = cos x[i]`, x in radians; floats."""


@op_definition
class FloorOp(UnaryOp):
    """`out[i]` = the largest whole number <= x[i]; floats."""


@op_definition
class CeilOp(UnaryOp):
    """`out[i]` = the smallest whole number >= x[i]; floats."""


@op_definition
class RoundOp(UnaryOp):
    """`out[i]` = the whole number nearest to x[i], halves to the even one; floats."""

    FUNCTION: ClassVar[str] = "roundeven"
