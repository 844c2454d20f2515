"""Reductions along axes: sum, mean, max, min, prod; and where the largest or smallest element is."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.domain import NUMBERS
from inarch.dialects.graph.op import (
    Array,
    GraphOp,
    StructuredOp,
    Tensor,
    element_of,
    ints,
    shape_of,
    tensor_dtype,
)
from inarch.dialects.nest_spec import Body, NestBuilder, NestSpec, same
from inarch.dialects.scalar import Number, Scalar
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i1, i64, tensor


class ReduceOp(StructuredOp):
    """`out = f(x)` along `axes`; with no axes, `out = x`.

    The reduced axes have size 1 in `out` where `keepdims` is set, and are left out otherwise. `out`
    has the dtype of `x`. A reduction of no elements gives the op's start value.
    C1: axes ascend within the rank of x. C2: the op is defined on the dtype (never on bool).
    """

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase.constr(i64))
    keepdims = prop_def(IntegerAttr.constr(type=i1), default_value=IntegerAttr(0, 1))
    out = result_def(TensorType)

    FUNCTION: ClassVar[str]
    """The scalar function of the accumulator and one more element."""

    @abstractmethod
    def start(self) -> Number:
        """The value of a reduction of no elements."""

    def step(self, x: Scalar, acc: Scalar) -> Scalar:
        """The accumulator after one more element."""
        return acc.function(self.FUNCTION, x)

    @abstractmethod
    def reduce(self, x: Array, axes: tuple[int, ...]) -> Array:
        """The op in NumPy along at least one axis, with the reduced axes kept."""

    def finish(self) -> Body | None:
        """What is applied to the accumulator at the end, if anything."""
        return None

    def reduced_axes(self) -> tuple[int, ...]:
        """The axes that are reduced."""
        return ints(self.axes)

    def keeps_axes(self) -> bool:
        """Whether reduced axes stay, with size 1."""
        return bool(self.keepdims.value.data)

    def count(self) -> int:
        """How many elements of `x` make one of `out`."""
        shape = shape_of(self.x)
        return math.prod(shape[axis] for axis in self.reduced_axes())

    def check(self) -> None:
        axes, rank = self.reduced_axes(), len(shape_of(self.x))
        ascend = list(axes) == sorted(set(axes)) and all(0 <= axis < rank for axis in axes)
        require(ascend, "C1", f"expected ascending axes of rank {rank}, found {list(axes)}")
        NUMBERS.check(self.x, "C2")

    def infer(self) -> Sequence[Tensor]:
        axes, shape = self.reduced_axes(), shape_of(self.x)
        if self.keeps_axes():
            kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
        else:
            kept = [size for axis, size in enumerate(shape) if axis not in axes]
        return [tensor(element_of(self.x), kept)]

    def nest(self) -> NestSpec:
        axes, shape = self.reduced_axes(), shape_of(self.x)
        builder = NestBuilder()
        kept = {
            axis: builder.parallel(f"i{axis}", size)
            for axis, size in enumerate(shape)
            if axis not in axes
        }
        reduced = {axis: builder.reduction(f"r{axis}", shape[axis]) for axis in axes}
        read = [kept[axis] if axis in kept else reduced[axis] for axis in range(len(shape))]
        if self.keeps_axes():
            write = [kept.get(axis, 0) for axis in range(len(shape))]
        else:
            write = list(kept.values())
        if not axes:
            return builder.spec([read], write, same)
        init = self.start()
        return builder.spec([read], write, self.step, init=init, finish=self.finish())

    def reference(self, x: Array) -> Array:
        axes = self.reduced_axes()
        result = self.reduce(x, axes) if axes else x.copy()
        (kind,) = self.infer()
        return np.asarray(result, dtype=x.dtype).reshape(kind.get_shape())


@op_definition
class ReduceSumOp(ReduceOp):
    """`out = sum of x along axes`; integers wrap; no elements: 0. Constraints: see ReduceOp."""

    FUNCTION: ClassVar[str] = "add"

    def start(self) -> Number:
        return 0

    def reduce(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.sum(x, axis=axes, dtype=_accumulator(x), keepdims=True)


@op_definition
class ReduceMeanOp(ReduceOp):
    """`out = sum of x along axes / count`; no elements: NaN.

    Integers add up in their own dtype and divide towards zero. C1: see ReduceOp. C2: the dtype is a
    float or an integer of 32 or 64 bits. C3: an integer mean is of at least one element.
    """

    FUNCTION: ClassVar[str] = "add"

    def check(self) -> None:
        super().check()
        dtype = tensor_dtype(self.x)
        message = f"expected a float, or an integer of 32 or 64 bits, found {dtype.name}"
        require(dtype.is_float or dtype.bits >= 32, "C2", message)
        some = dtype.is_float or self.count() > 0
        require(some, "C3", "expected at least one element in an integer mean, found none")

    def start(self) -> Number:
        return 0

    def finish(self) -> Body | None:
        count = self.count()

        def divide(_: Scalar, acc: Scalar) -> Scalar:
            return acc / count

        return divide

    def reduce(self, x: Array, axes: tuple[int, ...]) -> Array:
        total: Array = np.sum(x, axis=axes, dtype=_accumulator(x), keepdims=True)
        if x.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                return np.divide(total, self.count())
        count = x.dtype.type(self.count())
        return (total - np.fmod(total, count)) // count


@op_definition
class ReduceMaxOp(ReduceOp):
    """`out = largest x along axes`; NaN when any is NaN; no elements: -inf, or the least integer.

    Constraints: see ReduceOp.
    """

    FUNCTION: ClassVar[str] = "max"

    def start(self) -> Number:
        return tensor_dtype(self.x).least

    def reduce(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.max(x, axis=axes, keepdims=True, initial=self.start())


@op_definition
class ReduceMinOp(ReduceOp):
    """`out = smallest x along axes`; NaN when any is NaN; no elements: inf, or the largest integer.

    Constraints: see ReduceOp.
    """

    FUNCTION: ClassVar[str] = "min"

    def start(self) -> Number:
        return tensor_dtype(self.x).greatest

    def reduce(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.min(x, axis=axes, keepdims=True, initial=self.start())


@op_definition
class ReduceProdOp(ReduceOp):
    """`out = product of x along axes`; integers wrap; no elements: 1. Constraints: see ReduceOp."""

    FUNCTION: ClassVar[str] = "mul"

    def start(self) -> Number:
        return 1

    def reduce(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.prod(x, axis=axes, dtype=_accumulator(x), keepdims=True)


class ArgReduceOp(GraphOp):
    """`out = the position along axis of the element that the op looks for`, counted from 0.

    Of equal elements that of the first, with `last` that of the last one; -0 and 0 are equal. A NaN is found
    before every other element. `axis` has size 1 in `out` where `keepdims` is set, and is left out otherwise.
    C1: the op is defined on the dtype (never on bool). C2: -rank <= axis < rank. C3: there are elements
    along the axis.
    """

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    keepdims = prop_def(IntegerAttr.constr(type=i1), default_value=IntegerAttr(0, 1))
    last = prop_def(IntegerAttr.constr(type=i1), default_value=IntegerAttr(0, 1))
    out = result_def(TensorType)

    @abstractmethod
    def first(self, x: Array, axis: int) -> Array:
        """The op in NumPy, of equal elements the first; without the axis."""

    def along(self) -> int:
        """The axis, counted from the front."""
        return self.axis.value.data % len(shape_of(self.x))

    def keeps_axis(self) -> bool:
        """Whether the axis stays, with size 1."""
        return bool(self.keepdims.value.data)

    def takes_last(self) -> bool:
        """Whether of equal elements the last one counts."""
        return bool(self.last.value.data)

    def check(self) -> None:
        NUMBERS.check(self.x, "C1")
        shape = shape_of(self.x)
        axis, rank = self.axis.value.data, len(shape)
        is_one = -rank <= axis < rank
        require(is_one, "C2", f"expected an axis of a tensor of rank {rank}, found {axis}")
        message = f"expected elements along axis {axis}, found shape {shape}"
        require(shape[axis] > 0, "C3", message)

    def infer(self) -> Sequence[Tensor]:
        kept = list(shape_of(self.x))
        kept[self.along() : self.along() + 1] = [1] if self.keeps_axis() else []
        return [tensor(i64, kept)]

    def reference(self, x: Array) -> Array:
        axis = self.along()
        found = self.first(np.flip(x, axis) if self.takes_last() else x, axis)
        if self.takes_last():
            found = x.shape[axis] - 1 - found
        (kind,) = self.infer()
        return np.asarray(found, dtype=np.int64).reshape(kind.get_shape())


@op_definition
class ArgMaxOp(ArgReduceOp):
    """`out = position of the largest x along axis`. See ArgReduceOp."""

    name = "graph.argmax"

    def first(self, x: Array, axis: int) -> Array:
        return np.argmax(x, axis)


@op_definition
class ArgMinOp(ArgReduceOp):
    """`out = position of the smallest x along axis`. See ArgReduceOp."""

    name = "graph.argmin"

    def first(self, x: Array, axis: int) -> Array:
        return np.argmin(x, axis)


def _accumulator(x: Array) -> str:
    """Floats add up in double precision, integers wrap in their own."""
    return "float64" if x.dtype.kind == "f" else x.dtype.name
