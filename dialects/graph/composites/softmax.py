"""Composites over one axis: softmax, log_softmax."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Operation
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.composites import normal_axis
from inarch.dialects.graph.domain import FLOATS
from inarch.dialects.graph.elementwise import evaluate
from inarch.dialects.graph.elementwise.arithmetic import MulOp, SubOp
from inarch.dialects.graph.elementwise.unary import ExpOp, LogOp, ReciprocalOp
from inarch.dialects.graph.op import Array, CompositeOp, Tensor, shape_of, tensor_of
from inarch.dialects.graph.reduce import ReduceMaxOp, ReduceSumOp
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64


class AxisOp(CompositeOp):
    """A function of the slices of x along one axis, of the shape and dtype of x.

    C1: the dtype is a float. C2: -rank <= axis < rank (a scalar is taken as a row of one element).
    """

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    out = result_def(TensorType)

    def check(self) -> None:
        FLOATS.check(self.x, "C1")
        axis, rank = self.axis.value.data, len(shape_of(self.x))
        found = normal_axis(axis, rank)
        require(
            found is not None, "C2", f"expected an axis of a tensor of rank {rank}, found {axis}"
        )

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(self.x)]

    def axes(self) -> tuple[int, ...]:
        """The axis, counted from the front; none of a scalar."""
        rank = len(shape_of(self.x))
        axis = normal_axis(self.axis.value.data, rank)
        assert axis is not None  # `check` has seen to it
        return (axis,) if rank else ()

    def decompose(self) -> list[Operation]:
        axes = self.axes()
        largest = ReduceMaxOp.make(self.x, axes=axes, keepdims=True)
        shifted = SubOp.make(self.x, largest)
        powers = ExpOp.make(shifted)
        total = ReduceSumOp.make(powers, axes=axes, keepdims=True)
        return [largest, shifted, powers, total, *self.finish(shifted, powers, total)]

    @abstractmethod
    def finish(self, shifted: Operation, powers: Operation, total: Operation) -> list[Operation]:
        """The last ops, from `x - m`, its powers of e, and the sum of these."""

    @abstractmethod
    def reference(self, x: Array) -> Array: ...


@op_definition
class SoftmaxOp(AxisOp):
    """`out[i] = exp(x[i] - m) / sum of exp(x[j] - m)`, j over the axis, m the maximum of x over it.

    C1: the dtype is a float. C2: -rank <= axis < rank (a scalar is taken as a row of one element).
    """

    def finish(self, shifted: Operation, powers: Operation, total: Operation) -> list[Operation]:
        factor = ReciprocalOp.make(total)  # one division a row, not one an element
        return [factor, MulOp.make(powers, factor)]

    def reference(self, x: Array) -> Array:
        return evaluate(_softmax, x, self.axes(), dtype=x.dtype)


@op_definition
class LogSoftmaxOp(AxisOp):
    """`out[i] = x[i] - m - ln(sum of exp(x[j] - m))`, j over the axis, m the maximum of x over it.

    C1: the dtype is a float. C2: -rank <= axis < rank (a scalar is taken as a row of one element).
    """

    def finish(self, shifted: Operation, powers: Operation, total: Operation) -> list[Operation]:
        log = LogOp.make(total)
        return [log, SubOp.make(shifted, log)]

    def reference(self, x: Array) -> Array:
        return evaluate(_log_softmax, x, self.axes(), dtype=x.dtype)


def _shift(x: Array, axes: tuple[int, ...]) -> Array:
    """`x - m`, in f64 whatever the dtype of x: the reference is to be the more exact one."""
    wide = x.astype(np.float64)
    return wide - np.max(wide, axis=axes, keepdims=True, initial=-np.inf)


def _softmax(x: Array, axes: tuple[int, ...]) -> Array:
    powers = np.exp(_shift(x, axes))
    return powers / np.sum(powers, axis=axes, keepdims=True)


def _log_softmax(x: Array, axes: tuple[int, ...]) -> Array:
    shifted = _shift(x, axes)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True))
