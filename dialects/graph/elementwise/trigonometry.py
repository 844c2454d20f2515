"""Trigonometric and hyperbolic functions of one tensor, and their inverses (sin, cos, tanh: unary)."""

from __future__ import annotations

from inarch.core.lazy import np
from inarch.dialects.graph.elementwise import UnaryOp, evaluate
from inarch.dialects.graph.op import Array
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition
from inarch.ir.payload.lazy import math


@op_definition
class TanOp(UnaryOp):
    """`out[i]` = tan x[i], x in radians; floats.

    C1: the dtype is a float.
    """

    name = "graph.tan"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.TanOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.tan, x)


@op_definition
class AsinOp(UnaryOp):
    """`out[i]` = arcsin x[i], in radians; NaN beyond -1 and 1; floats.

    C1: the dtype is a float.
    """

    name = "graph.asin"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.AsinOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.arcsin, x)


@op_definition
class AcosOp(UnaryOp):
    """`out[i]` = arccos x[i], in radians; NaN beyond -1 and 1; floats.

    C1: the dtype is a float.
    """

    name = "graph.acos"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.AcosOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.arccos, x)


@op_definition
class AtanOp(UnaryOp):
    """`out[i]` = arctan x[i], in radians; floats.

    C1: the dtype is a float.
    """

    name = "graph.atan"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.AtanOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.arctan, x)


@op_definition
class SinhOp(UnaryOp):
    """`out[i]` = sinh x[i]; floats.

    C1: the dtype is a float.
    """

    name = "graph.sinh"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.SinhOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.sinh, x)


@op_definition
class CoshOp(UnaryOp):
    """`out[i]` = cosh x[i]; floats.

    C1: the dtype is a float.
    """

    name = "graph.cosh"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.CoshOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.cosh, x)


@op_definition
class AsinhOp(UnaryOp):
    """`out[i]` = arsinh x[i]; floats.

    C1: the dtype is a float.
    """

    name = "graph.asinh"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.AsinhOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.arcsinh, x)


@op_definition
class AcoshOp(UnaryOp):
    """`out[i]` = arcosh x[i]; NaN below 1; floats.

    C1: the dtype is a float.
    """

    name = "graph.acosh"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.AcoshOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.arccosh, x)


@op_definition
class AtanhOp(UnaryOp):
    """`out[i]` = artanh x[i]; infinite at -1 and 1, NaN beyond; floats.

    C1: the dtype is a float.
    """

    name = "graph.atanh"

    def scalar(self, x: Scalar) -> Scalar:
        return x.unary(math.AtanhOp)

    def reference(self, x: Array) -> Array:
        return evaluate(np.arctanh, x)
