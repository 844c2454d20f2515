"""Pooling over sliding windows: max_pool, avg_pool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.core.limits import CONSTANT_BYTES
from inarch.dialects.graph.domain import FLOATS, NUMBERS
from inarch.dialects.graph.op import (
    Array,
    GraphOp,
    StructuredOp,
    Tensor,
    as_attribute,
    element_of,
    ints,
    shape_of,
    tensor_dtype,
)
from inarch.dialects.graph.windows import Window
from inarch.dialects.nest_spec import Body, NestBuilder, NestSpec
from inarch.dialects.scalar import Number, Scalar
from inarch.ir.location import location_text
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i1, i64, tensor

MAX_OVER_EDGES = 1 << 20
"""Windows over the edges of a dimension, which are looked at one by one; no model has a thousand."""

_FALSE = IntegerAttr(0, 1)


class PoolOp(GraphOp):
    """`out[n, c, o..] = f over k.. of x[n, c, p..]`, `p = o * stride + k * dilation - begin`.

    x is [N, C, S..]; `pads` are the begins, then the ends. There are `floor((size + begin + end -
    (k - 1) * dilation - 1) / stride) + 1` windows in a dimension; with `ceil_mode` that division
    rounds up, and a last window that would start behind the input and its begin is left out (ONNX
    MaxPool-22). `out` has the dtype of x.

    C1: the op is defined on the dtype. C2: x has rank 3 or more. C3: every spatial dimension has
    one window size, stride and dilation >= 1 and two pads >= 0. C4: a (dilated) window fits into
    the padded input; with `ceil_mode` all of it but less than a stride. C5: every window has an
    element of x. C6: at most 2**20 windows of a dimension reach over its edges.
    """

    x = operand_def(TensorType)
    window = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    ceil_mode = prop_def(IntegerAttr.constr(type=i1), default_value=_FALSE)
    out = result_def(TensorType)

    def add_defaults(self) -> None:
        """In `make`: stride 1, no padding, dilation 1."""
        super().add_defaults()
        rank = max(0, len(shape_of(self.x)) - 2)
        self.properties = {
            "strides": as_attribute([1] * rank),
            "pads": as_attribute([0] * 2 * rank),
            "dilations": as_attribute([1] * rank),
            **self.properties,
        }

    def sliding(self) -> Window:
        """The window with its strides, pads and dilations."""
        return Window(ints(self.window), ints(self.strides), ints(self.pads), ints(self.dilations))

    def outputs(self) -> tuple[int, ...]:
        """How many windows there are in each spatial dimension."""
        ceil = bool(self.ceil_mode.value.data)
        return self.sliding().outputs(shape_of(self.x)[2:], ceil=ceil)

    def check(self) -> None:
        x = shape_of(self.x)
        require(len(x) >= 3, "C2", f"expected a rank of 3 or more, found shape {x}")
        self.sliding().check(x[2:], "C3", "C4", ceil=bool(self.ceil_mode.value.data))
        window = self.sliding()
        for d, (size, count) in enumerate(zip(x[2:], self.outputs(), strict=True)):
            # A window that is inside has all its taps there.
            edges = window.over_edges(d, size, count)
            number = sum(map(len, edges))
            message = f"expected at most {MAX_OVER_EDGES} windows over the edges, found {number}"
            require(number <= MAX_OVER_EDGES, "C6", f"{message} in spatial dimension {d}")
            message = f"expected elements of x in every window, found none in spatial dimension {d}"
            for part in edges:
                inside = window.taps_inside(d, np.arange(part.start, part.stop), 0, size)
                require(bool(inside.all()), "C5", message)

    def infer(self) -> Sequence[Tensor]:
        shape = (*shape_of(self.x)[:2], *self.outputs())
        return [tensor(element_of(self.x), shape)]

    def reference_points(self) -> int:
        x = shape_of(self.x)
        return math.prod(x[:2]) * self.sliding().points(x[2:], self.outputs())

    def _nest(self, body: Body, init: Number) -> NestSpec:
        """Reduces each window with `body`; elements outside x are `init`."""
        x, window, outputs = shape_of(self.x), self.sliding(), self.outputs()
        builder = NestBuilder()
        n, c = builder.parallel("n", x[0]), builder.parallel("c", x[1])
        o, tap_names = window.iterators(builder, outputs)
        k = [builder.reduction(*tap) for tap in zip(tap_names, window.sizes, strict=True)]
        pad = init if window.overruns(x[2:], outputs) else None
        read = (n, c, *window.positions(o, k))
        return builder.spec([read], (n, c, *o), body, init=init, pads=[pad])


@op_definition
class MaxPoolOp(PoolOp, StructuredOp):
    """`out = largest element of x in the window`; NaN when any is NaN. All dtypes but bool.

    Constraints: see PoolOp.
    """

    def check(self) -> None:
        NUMBERS.check(self.x, "C1")
        super().check()

    def nest(self) -> NestSpec:
        return self._nest(_largest, tensor_dtype(self.x).least)

    def reference(self, x: Array) -> Array:
        outputs, least = self.outputs(), tensor_dtype(self.x).least
        result = np.full((*x.shape[:2], *outputs), least, x.dtype)
        for _, elements in self.sliding().views(x, outputs, least):
            np.maximum(result, elements, out=result)
        return result


@op_definition
class AvgPoolOp(PoolOp):
    """`out = sum of x in the window / count`; floats.

    `count` is how many taps are in x or, with `count_include_pad`, in x and its padding (never
    those of a `ceil_mode` window behind the padding). Constraints: see PoolOp.
    """

    TAKES_LAYOUTS: ClassVar[bool] = True
    count_include_pad = prop_def(IntegerAttr.constr(type=i1), default_value=_FALSE)
    assembly_format = (
        "$x `window` `=` $window `strides` `=` $strides `pads` `=` $pads `dilations` `=` $dilations "
        "(`ceil_mode` `=` $ceil_mode^)? (`count_include_pad` `=` $count_include_pad^)? "
        "attr-dict `:` type($x) `->` type($out)"
    )

    def check(self) -> None:
        FLOATS.check(self.x, "C1")
        super().check()

    def sum_nest(self) -> NestSpec:
        """The sums of the windows, before they are divided by `counts`."""
        return self._nest(_sum, 0)

    def counts(self) -> Array:
        """What each sum is divided by: an array of the output's spatial shape, in its dtype."""
        dtype = np.dtype(tensor_dtype(self.x).numpy)
        window, spatial, outputs = self.sliding(), shape_of(self.x)[2:], self.outputs()
        CONSTANT_BYTES.check(math.prod(outputs) * dtype.itemsize, where=location_text(self))
        result = np.ones((), dtype)
        for d, (size, count) in enumerate(zip(spatial, outputs, strict=True)):
            low, high = 0, size
            if self.count_include_pad.value.data:
                low, high = -window.pads[d], size + window.pads[len(spatial) + d]
            taps = window.taps_inside(d, np.arange(count), low, high)
            result = np.multiply.outer(result, taps.astype(dtype))
        return result

    def reference(self, x: Array) -> Array:
        outputs, window = self.outputs(), self.sliding()
        total = np.zeros((*x.shape[:2], *outputs), np.float64)
        for _, elements in window.views(x, outputs, 0):
            total += elements
        area, counted = np.array(x.shape[2:]), window
        if self.count_include_pad.value.data:
            area = area + np.array(window.pads).reshape(2, -1).sum(axis=0)
            counted = replace(window, pads=(0,) * len(window.pads))
        ones = np.ones(area, np.int64)
        counts = sum(elements for _, elements in counted.views(ones, outputs, 0))
        return np.asarray(total / counts).astype(x.dtype)


def _largest(x: Scalar, acc: Scalar) -> Scalar:
    return acc.maximum(x)


def _sum(x: Scalar, acc: Scalar) -> Scalar:
    return acc + x
