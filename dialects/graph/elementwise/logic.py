"""Comparisons of two tensors, which give i1, and logic on i1."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute

from inarch.core.lazy import np
from inarch.dialects.graph.domain import ANY, BOOLS, Domain
from inarch.dialects.graph.elementwise import BinaryOp, UnaryOp, elementwise, evaluate
from inarch.dialects.graph.op import Array
from inarch.dialects.scalar import Scalar
from inarch.ir.types import i1


class ComparisonOp(BinaryOp):
    """`out[i] = a[i] <relation> b[i]`, broadcast; i1; of any dtype (false < true).

    C1: a and b have one dtype. C2: their shapes broadcast. (C3 never fails.)
    """

    DOMAIN: ClassVar[Domain] = ANY

    def result_element(self) -> Attribute:
        return i1

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return getattr(a, self.name.removeprefix("graph."))(b)

    def reference(self, a: Array, b: Array) -> Array:
        return evaluate(getattr(np, self.name.removeprefix("graph.")), a, b)


class LogicalOp(BinaryOp):
    """`out[i] = a[i] <connective> b[i]`, broadcast; i1.

    C1: a and b have one dtype. C2: their shapes broadcast. C3: the dtype is i1.
    """

    DOMAIN: ClassVar[Domain] = BOOLS


@elementwise
class EqualOp(ComparisonOp):
    """`out[i] = a[i] == b[i]`, broadcast; any dtype, to i1; false when either is NaN."""


@elementwise
class NotEqualOp(ComparisonOp):
    """`out[i] = a[i] != b[i]`, broadcast; any dtype, to i1; true when either is NaN."""


@elementwise
class LessOp(ComparisonOp):
    """`out[i] = a[i] < b[i]`, broadcast; any dtype, to i1; false when either is NaN."""


@elementwise
class LessEqualOp(ComparisonOp):
    """`out[i] = a[i] <= b[i]`, broadcast; any dtype, to i1; false when either is NaN."""


@elementwise
class GreaterOp(ComparisonOp):
    """`out[i] = a[i] > b[i]`, broadcast; any dtype, to i1; false when either is NaN."""

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return b.less(a)


@elementwise
class GreaterEqualOp(ComparisonOp):
    """`out[i] = a[i] >= b[i]`, broadcast; any dtype, to i1; false when either is NaN."""

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return b.less_equal(a)


@elementwise
class LogicalAndOp(LogicalOp):
    """`out[i] = a[i] and b[i]`, broadcast; i1."""

    FUNCTION: ClassVar[str] = "and"


@elementwise
class LogicalOrOp(LogicalOp):
    """`out[i] = a[i] or b[i]`, broadcast; i1."""

    FUNCTION: ClassVar[str] = "or"


@elementwise
class LogicalXorOp(LogicalOp):
    """`out[i] = either, but not both, of a[i] and b[i]`, broadcast; i1."""

    FUNCTION: ClassVar[str] = "xor"


@elementwise
class LogicalNotOp(UnaryOp):
    """`out[i] = not x[i]`; i1."""

    DOMAIN: ClassVar[Domain] = BOOLS

    def scalar(self, x: Scalar) -> Scalar:
        return ~x

    def reference(self, x: Array) -> Array:
        return evaluate(np.logical_not, x)
