"""Ops that only move elements: reshape, transpose, broadcast_to, concat, slice, pad."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from inarch.core.lazy import np
from inarch.dialects.graph.number import NUMBER
from inarch.dialects.graph.number import Number as NumberDirective
from inarch.dialects.graph.op import (
    Array,
    GraphOp,
    StructuredOp,
    Tensor,
    broadcast,
    element_of,
    ints,
    shape_of,
    tensor_dtype,
)
from inarch.dialects.nest_spec import NestBuilder, NestSpec, same
from inarch.dialects.scalar import Number
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64, tensor


@op_definition
class ReshapeOp(GraphOp):
    """`out` has the elements of `x`, in row-major order, under another shape. Any dtype.

    C1: sizes are >= 0 (there is no -1) and make as many elements as x has.
    """

    IS_CHEAP: ClassVar[bool] = True
    MOVES: ClassVar[bool] = True
    x = operand_def(TensorType)
    shape = prop_def(DenseArrayBase.constr(i64))
    out = result_def(TensorType)

    def check(self) -> None:
        sizes, old = ints(self.shape), shape_of(self.x)
        same = all(size >= 0 for size in sizes) and math.prod(sizes) == math.prod(old)
        require(
            same, "C1", f"expected sizes that make {math.prod(old)} elements, found {list(sizes)}"
        )

    def infer(self) -> Sequence[Tensor]:
        return [tensor(element_of(self.x), ints(self.shape))]

    def reference(self, x: Array) -> Array:
        return x.reshape(ints(self.shape)).copy()


class CopyOp(StructuredOp):
    """`out[i] = x[f(i)]` with a linear `f`. Any dtype."""

    MOVES: ClassVar[bool] = True

    @abstractmethod
    def source(self, index: Sequence[AffineExpr]) -> Sequence[AffineExpr | int]:
        """Which element of `x` element `index` of `out` is."""

    def pad_value(self) -> Number | None:
        """What elements outside `x` are; None when there are none."""
        return None

    def nest(self) -> NestSpec:
        builder = NestBuilder()
        (result,) = self.infer()
        index = builder.shape(result.get_shape())
        pads = [self.pad_value()]
        return builder.spec([self.source(index)], index, same, pads=pads)


@op_definition
class TransposeOp(CopyOp):
    """Dimension `d` of `out` is dimension `perm[d]` of `x`. Any dtype.

    C1: perm is a permutation of the dimensions of x.
    """

    IS_CHEAP: ClassVar[bool] = True
    x = operand_def(TensorType)
    perm = prop_def(DenseArrayBase.constr(i64))
    out = result_def(TensorType)

    def check(self) -> None:
        perm, rank = ints(self.perm), len(shape_of(self.x))
        is_permutation = sorted(perm) == list(range(rank))
        found = list(perm)
        require(is_permutation, "C1", f"expected a permutation of 0 .. {rank - 1}, found {found}")

    def infer(self) -> Sequence[Tensor]:
        shape = shape_of(self.x)
        return [tensor(element_of(self.x), [shape[axis] for axis in ints(self.perm)])]

    def source(self, index: Sequence[AffineExpr]) -> Sequence[AffineExpr | int]:
        perm = ints(self.perm)
        return [index[perm.index(axis)] for axis in range(len(perm))]

    def reference(self, x: Array) -> Array:
        return np.array(np.transpose(x, ints(self.perm)), order="C")


@op_definition
class BroadcastToOp(CopyOp):
    """`out` is `x` repeated along new leading dimensions and dimensions of size 1. Any dtype.

    C1: the shape of x broadcasts to `shape`, as in NumPy.
    """

    IS_CHEAP: ClassVar[bool] = True
    x = operand_def(TensorType)
    shape = prop_def(DenseArrayBase.constr(i64))
    out = result_def(TensorType)

    def check(self) -> None:
        old, new = shape_of(self.x), ints(self.shape)
        fits = all(size >= 0 for size in new) and broadcast(old, new) == new
        require(fits, "C1", f"shape {old} does not broadcast to {list(new)}")

    def infer(self) -> Sequence[Tensor]:
        return [tensor(element_of(self.x), ints(self.shape))]

    def source(self, index: Sequence[AffineExpr]) -> Sequence[AffineExpr | int]:
        shape = shape_of(self.x)
        last = index[len(index) - len(shape) :]
        return [0 if size == 1 else expr for size, expr in zip(shape, last, strict=True)]

    def reference(self, x: Array) -> Array:
        return np.array(np.broadcast_to(x, ints(self.shape)), order="C")


@op_definition
class ConcatOp(GraphOp):
    """`out` is the operands one after the other along `axis`. Any dtype.

    C1: there is at least one operand. C2: 0 <= axis < rank. C3: operands have one dtype, and one
    shape but for the size along the axis.
    """

    MOVES: ClassVar[bool] = True
    TAKES_LAYOUTS: ClassVar[bool] = True
    parts = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i64))
    out = result_def(TensorType)

    def check(self) -> None:
        require(bool(self.parts), "C1", "expected at least one operand, found none")
        axis, shapes = self.axis.value.data, [shape_of(part) for part in self.parts]
        rank = len(shapes[0])
        require(0 <= axis < rank, "C2", f"expected an axis of rank {rank}, found {axis}")
        rest = {shape[:axis] + shape[axis + 1 :] for shape in shapes}
        same = len(rest) == 1 and all(len(shape) == rank for shape in shapes)
        require(same, "C3", f"expected one shape but for axis {axis}, found {_list(shapes)}")
        dtypes = sorted({tensor_dtype(part).name for part in self.parts})
        require(len(dtypes) == 1, "C3", f"expected one dtype, found {', '.join(dtypes)}")

    def infer(self) -> Sequence[Tensor]:
        axis, shape = self.axis.value.data, list(shape_of(self.parts[0]))
        shape[axis] = sum(shape_of(part)[axis] for part in self.parts)
        return [tensor(element_of(self.parts[0]), shape)]

    def runs(self) -> list[tuple[SSAValue, int]]:
        """The operands, each with how often it comes there in a row."""
        return [(part, len(list(same_ones))) for part, same_ones in groupby(self.parts)]

    def part_nests(self, runs: Sequence[tuple[SSAValue, int]]) -> list[NestSpec]:
        """One nest a run: it reads that operand alone, and writes it at its places in `out`."""
        specs: list[NestSpec] = []
        axis, offset = self.axis.value.data, 0
        for part, times in runs:
            builder, size = NestBuilder(), shape_of(part)[axis]
            # Copies of an empty operand share one place: an iterator over them would write nothing.
            repeats = times > 1 and size > 0
            repeat = [builder.parallel("r", times)] if repeats else []
            index = builder.shape(shape_of(part))
            place = sum((each * size for each in repeat), index[axis] + offset)
            write = [place if d == axis else expr for d, expr in enumerate(index)]
            specs.append(builder.spec([index], write, same))
            offset += times * size
        return specs

    def reference(self, *operands: Array) -> Array:
        return np.concatenate(operands, axis=self.axis.value.data)


@op_definition
class SliceOp(CopyOp):
    """`out[i] = x[starts + i * steps]` with `sizes` elements a dimension. Any dtype.

    Steps may be negative: `starts` is then the last element that is taken, counted from the front.
    C1: starts, sizes and steps have one number a dimension of x. C2: sizes are >= 0 and steps are
    not 0. C3: every element taken is within x.
    """

    x = operand_def(TensorType)
    starts = prop_def(DenseArrayBase.constr(i64))
    sizes = prop_def(DenseArrayBase.constr(i64))
    steps = prop_def(DenseArrayBase.constr(i64))
    out = result_def(TensorType)

    def check(self) -> None:
        shape = shape_of(self.x)
        starts, sizes, steps = ints(self.starts), ints(self.sizes), ints(self.steps)
        ranks = (len(starts), len(sizes), len(steps))
        one_each = ranks == (len(shape),) * 3
        require(one_each, "C1", f"expected {len(shape)} starts, sizes and steps, found {ranks}")
        fit = all(size >= 0 for size in sizes) and all(step != 0 for step in steps)
        found = f"{list(sizes)} and {list(steps)}"
        require(fit, "C2", f"expected sizes >= 0 and steps that are not 0, found {found}")
        if 0 in sizes:
            return
        for axis, size in enumerate(shape):
            first, last = starts[axis], starts[axis] + (sizes[axis] - 1) * steps[axis]
            inside = 0 <= first < size and 0 <= last < size
            message = f"elements {first} to {last} of dimension {axis} are outside a size of {size}"
            require(inside, "C3", message)

    def infer(self) -> Sequence[Tensor]:
        return [tensor(element_of(self.x), ints(self.sizes))]

    def source(self, index: Sequence[AffineExpr]) -> Sequence[AffineExpr | int]:
        starts, steps = ints(self.starts), ints(self.steps)
        return [i * step + start for i, start, step in zip(index, starts, steps, strict=True)]

    def reference(self, x: Array) -> Array:
        for axis, (start, size, step) in enumerate(
            zip(ints(self.starts), ints(self.sizes), ints(self.steps), strict=True)
        ):
            x = np.take(x, np.arange(size) * step + start if size else [], axis=axis)
        return np.array(x, order="C")


@op_definition
class PadOp(CopyOp):
    """`out` is `x` with `low[d]` elements of `value` before it and `high[d]` behind it. Any dtype.

    C1: low and high have one number >= 0 a dimension of x.
    C2: where the dtype is no float, value is one of its numbers. An integer stands for itself, of any size.
    """

    x = operand_def(TensorType)
    low = prop_def(DenseArrayBase.constr(i64))
    high = prop_def(DenseArrayBase.constr(i64))
    value = prop_def(NUMBER)
    out = result_def(TensorType)
    custom_directives = (NumberDirective,)
    assembly_format = (
        "$x `low` `=` $low `high` `=` $high `value` `=` custom<Number>($value) attr-dict "
        "`:` type($x) `->` type($out)"
    )

    def check(self) -> None:
        low, high, rank = ints(self.low), ints(self.high), len(shape_of(self.x))
        fit = len(low) == len(high) == rank and min((*low, *high), default=0) >= 0
        found = f"{list(low)} and {list(high)}"
        require(fit, "C1", f"expected {rank} numbers >= 0 in low and in high, found {found}")
        dtype, value = tensor_dtype(self.x), self.value.value.data
        if not dtype.is_float:
            whole = math.isfinite(value) and value == int(value)
            exact = whole and dtype.least <= value <= dtype.greatest
            require(exact, "C2", f"expected a value of {dtype.name}, found {value}")

    def infer(self) -> Sequence[Tensor]:
        low, high, shape = ints(self.low), ints(self.high), shape_of(self.x)
        sizes = [a + n + b for a, n, b in zip(low, shape, high, strict=True)]
        return [tensor(element_of(self.x), sizes)]

    def pad_value(self) -> Number | None:
        value = self.value.value.data
        return float(value) if tensor_dtype(self.x).is_float else int(value)

    def source(self, index: Sequence[AffineExpr]) -> Sequence[AffineExpr | int]:
        return [i - low if low else i for i, low in zip(index, ints(self.low), strict=True)]

    def reference(self, x: Array) -> Array:
        widths = list(zip(ints(self.low), ints(self.high), strict=True))
        value = x.dtype.type(self.pad_value())
        return np.pad(x, widths, constant_values=value) if widths else x.copy()


def _list(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(str(shape) for shape in shapes)
