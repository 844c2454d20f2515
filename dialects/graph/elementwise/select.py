"""`graph.select`: elementwise choice between two tensors."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.elementwise import ElementwiseOp, evaluate
from inarch.dialects.graph.op import Array, broadcast, shape_of, tensor_dtype
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition
from inarch.ir.require import require


@op_definition
class SelectOp(ElementwiseOp):
    """`out[i] = a[i] if condition[i] else b[i]`, all three broadcast; any dtype.

    C1: condition is i1. C2: a and b have one dtype. C3: the three shapes broadcast.
    """

    MOVES: ClassVar[bool] = True
    condition = operand_def(TensorType)
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    out = result_def(TensorType)

    def check(self) -> None:
        condition = tensor_dtype(self.condition).name
        require(condition == "i1", "C1", f"expected a condition of dtype i1, found {condition}")
        left, right = tensor_dtype(self.a), tensor_dtype(self.b)
        require(left == right, "C2", f"expected one dtype, found {left.name} and {right.name}")
        c, a, b = shape_of(self.condition), shape_of(self.a), shape_of(self.b)
        fits = broadcast(c, a, b) is not None
        require(fits, "C3", f"shapes {c}, {a} and {b} do not broadcast")

    def scalar(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        return condition.select(a, b)

    def reference(self, condition: Array, a: Array, b: Array) -> Array:
        return evaluate(np.where, condition, a, b)
