"""`power.square`, with its meaning: the host compiles it like any op of `graph`."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from inarch.core.lazy import np
from inarch.dialects.graph.elementwise import UnaryNumberOp, evaluate
from inarch.dialects.graph.op import Array
from inarch.dialects.scalar import Scalar


@irdl_op_definition
class SquareOp(UnaryNumberOp):
    """`out[i] = x[i] * x[i]`; floats and integers."""

    name = "power.square"

    def scalar(self, x: Scalar) -> Scalar:
        return x * x

    def reference(self, x: Array) -> Array:
        return evaluate(np.square, x)
