"""`graph.clip`: elementwise limits known at compile time (relu6 is `low = 0.0 high = 6.0`)."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, opt_prop_def, result_def

from inarch.core.dtypes import DType
from inarch.core.lazy import np
from inarch.dialects.graph.domain import NUMBERS
from inarch.dialects.graph.elementwise import ElementwiseOp, evaluate
from inarch.dialects.graph.number import NUMBER
from inarch.dialects.graph.number import Number as NumberDirective
from inarch.dialects.graph.op import Array, tensor_dtype
from inarch.dialects.scalar import Number, Scalar
from inarch.ir.op import op_definition
from inarch.ir.require import require


@op_definition
class ClipOp(ElementwiseOp):
    """`out[i] = min(max(x[i], low), high)`; floats and integers; NaN gives NaN.

    An absent `low` or `high` is no limit; where low > high, every number gives high. On f32 a
    limit is rounded to f32. Which zero results from zeros of unlike sign is unspecified.
    C1: the dtype is not i1. C2: the limits are finite. C3: on integers they are values of the
    dtype.
    """

    x = operand_def(TensorType)
    low = opt_prop_def(NUMBER)
    high = opt_prop_def(NUMBER)
    out = result_def(TensorType)
    assembly_format = (
        "$x (`low` `=` custom<Number>($low)^)? (`high` `=` custom<Number>($high)^)? attr-dict "
        "`:` type($x) `->` type($out)"
    )
    custom_directives = (NumberDirective,)

    def check(self) -> None:
        dtype = tensor_dtype(self.x)
        NUMBERS.check(self.x, "C1")
        for name, limit in (("low", self.low), ("high", self.high)):
            if limit is None:
                continue
            value = limit.value.data
            finite = math.isfinite(value)
            require(finite, "C2", f"expected a finite {name}, found {value}; leave it out for none")
            fits = dtype.is_float or _is_value(value, dtype)
            require(fits, "C3", f"expected a {name} that is a value of {dtype.name}, found {value}")

    def limits(self) -> tuple[Number | None, Number | None]:
        """`(low, high)` as numbers of the dtype's kind; None where there is no limit."""
        kind = float if tensor_dtype(self.x).is_float else int
        low, high = (None if a is None else kind(a.value.data) for a in (self.low, self.high))
        return low, high

    def scalar(self, x: Scalar) -> Scalar:
        low, high = self.limits()
        raised = x if low is None else x.maximum(low)
        return raised if high is None else raised.minimum(high)

    def reference(self, x: Array) -> Array:
        return evaluate(_clip, x, *self.limits())


def _clip(x: Array, low: Number | None, high: Number | None) -> Array:
    value = x.dtype.type
    if low is not None:
        x = np.where(x < value(low), value(low), x)
    return x if high is None else np.where(x > value(high), value(high), x)


def _is_value(number: float, dtype: DType) -> bool:
    """Whether the finite `number` is exactly one of the integer `dtype`'s values."""
    if number != int(number):
        return False
    low = 0 if dtype.is_unsigned else -(1 << (dtype.bits - 1))
    return low <= int(number) < low + (1 << dtype.bits)
