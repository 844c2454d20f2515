"""Trigonometric and hyperbolic functions of one tensor, and their inverses (sin, cos, tanh: unary)."""

from __future__ import annotations

from inarch.dialects.graph.elementwise import UnaryOp
from inarch.ir.op import op_definition


@op_definition
class TanOp(UnaryOp):
    """`out[i]` = tan x[i], x in radians; floats."""


@op_definition
class AsinOp(UnaryOp):
    """`out[i]` = arcsin x[i], in radians; NaN beyond -1 and 1; floats."""


@op_definition
class AcosOp(UnaryOp):
    """`out[i]` = arccos x[i], in radians; NaN beyond -1 and 1; floats."""


@op_definition
class AtanOp(UnaryOp):
    """`out[i]` = arctan x[i], in radians; floats."""


@op_definition
class SinhOp(UnaryOp):
    """`out[i]` = sinh x[i]; floats."""


@op_definition
class CoshOp(UnaryOp):
    """`out[i]` = cosh x[i]; floats."""


@op_definition
class AsinhOp(UnaryOp):
    """`out[i]` = arsinh x[i]; floats."""


@op_definition
class AcoshOp(UnaryOp):
    """`out[i]` = arcosh x[i]; NaN below 1; floats."""


@op_definition
class AtanhOp(UnaryOp):
    """`out[i]` = artanh x[i]; infinite at -1 and 1, NaN beyond; floats."""
