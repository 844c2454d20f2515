"""Trigonometric and hyperbolic functions of one tensor, and their inverses (sin, cos, tanh: unary)."""

from __future__ import annotations

from inarch.dialects.graph.elementwise import UnaryOp, elementwise


@elementwise
class TanOp(UnaryOp):
    """`out[i]` = tan x[i], x in radians; floats."""


@elementwise
class AsinOp(UnaryOp):
    """`out[i]` = arcsin x[i], in radians; NaN beyond -1 and 1; floats."""


@elementwise
class AcosOp(UnaryOp):
    """`out[i]` = arccos x[i], in radians; NaN beyond -1 and 1; floats."""


@elementwise
class AtanOp(UnaryOp):
    """`out[i]` = arctan x[i], in radians; floats."""


@elementwise
class SinhOp(UnaryOp):
    """`out[i]` = sinh x[i]; floats."""


@elementwise
class CoshOp(UnaryOp):
    """`out[i]` = cosh x[i]; floats."""


@elementwise
class AsinhOp(UnaryOp):
    """`out[i]` = arsinh x[i]; floats."""


@elementwise
class AcoshOp(UnaryOp):
    """`out[i]` = arcosh x[i]; NaN below 1; floats."""


@elementwise
class AtanhOp(UnaryOp):
    """`out[i]` = artanh x[i]; infinite at -1 and 1, NaN beyond; floats."""
