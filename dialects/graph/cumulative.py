"""Cumulative sums and products along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.domain import NUMBERS
from inarch.dialects.graph.op import Array, GraphOp, Tensor, shape_of, tensor_dtype, tensor_of
from inarch.dialects.scalar import Number, Scalar
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i1, i64


class CumulativeOp(GraphOp):
    """`out[k] = x[0] f x[1] f ... f x[k]` along `axis`, in that order and in the dtype of x.

    With `exclusive`, `x[k]` itself is left out, and the first element is what f leaves as it is; with
    `reverse`, it goes from the last element to the first. `out` has the shape and the dtype of `x`.
    Floats are rounded after each step, one after the other: no other order is taken.
    C1: the op is defined on the dtype (never on bool). C2: -rank <= axis < rank.
    """

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    exclusive = prop_def(IntegerAttr.constr(type=i1), default_value=IntegerAttr(0, 1))
    reverse = prop_def(IntegerAttr.constr(type=i1), default_value=IntegerAttr(0, 1))
    out = result_def(TensorType)

    FUNCTION: ClassVar[str]
    """The scalar function f."""
    NEUTRAL: ClassVar[int]
    """What the first element of an exclusive one is: nothing summed up, or multiplied."""

    def start(self) -> Number:
        """The number from which a step gives each element itself, also -0."""
        return -0.0 if not self.NEUTRAL and tensor_dtype(self.x).is_float else self.NEUTRAL

    def step(self, x: Scalar, acc: Scalar) -> Scalar:
        """The accumulator after one more element."""
        return acc.function(self.FUNCTION, x)

    def along(self) -> int:
        """The axis, counted from the front."""
        return self.axis.value.data % len(shape_of(self.x))

    def excludes(self) -> bool:
        """Whether each element is left out of its own."""
        return bool(self.exclusive.value.data)

    def goes_back(self) -> bool:
        """Whether it begins with the last element."""
        return bool(self.reverse.value.data)

    def check(self) -> None:
        NUMBERS.check(self.x, "C1")
        axis, rank = self.axis.value.data, len(shape_of(self.x))
        is_one = -rank <= axis < rank
        require(is_one, "C2", f"expected an axis of a tensor of rank {rank}, found {axis}")

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(self.x)]

    def reference(self, x: Array) -> Array:
        axis = self.along()
        ordered = np.flip(x, axis) if self.goes_back() else x
        with np.errstate(all="ignore"):
            function = np.add if self.FUNCTION == "add" else np.multiply
            result = function.accumulate(ordered, axis, dtype=x.dtype)
        if self.excludes():
            first = np.full_like(result.take([0] if result.shape[axis] else [], axis), self.NEUTRAL)
            rest = result.take(range(result.shape[axis] - 1), axis)
            result = np.concatenate([first, rest], axis)
        return np.ascontiguousarray(np.flip(result, axis) if self.goes_back() else result)


@op_definition
class CumsumOp(CumulativeOp):
    """`out[k] = x[0] + x[1] + ... + x[k]` along `axis`; integers wrap. See CumulativeOp."""

    FUNCTION: ClassVar[str] = "add"
    NEUTRAL: ClassVar[int] = 0


@op_definition
class CumprodOp(CumulativeOp):
    """`out[k] = x[0] * x[1] * ... * x[k]` along `axis`; integers wrap. See CumulativeOp."""

    FUNCTION: ClassVar[str] = "mul"
    NEUTRAL: ClassVar[int] = 1
