"""Comparisons of two tensors, which give i1, and logic on i1."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute

from inarch.core.lazy import np
from inarch.dialects.graph.domain import ANY, BOOLS, Domain
from inarch.dialects.graph.elementwise import BinaryOp, UnaryOp, evaluate
from inarch.dialects.graph.op import Array
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition
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


@op_definition
class EqualOp(ComparisonOp):
    """`out[i] = a[i] == b[i]`, broadcast; any dtype, to i1; false when either is NaN."""


@op_definition
class NotEqualOp(ComparisonOp):
    """`out[i] = a[i] != b[i]`, broadcast; any dtype, to i1; true when either is NaN."""


@op_definition
class LessOp(ComparisonOp):
    """`out[i] = a[i] < b[i]`, broadcast; any dtype, to i1; false when either is NaN."""


@op_definition
class LessEqualOp(ComparisonOp):
    """`out[i] = a[i] <= b[i]`, broadcast; any dtype, to i1; false when either is NaN."""


@op_definition
class GreaterOp(ComparisonOp):
    """`out[i] = a[i] > b[i]`, broadcast; any dtype, to i1; false when either is NaN."""

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return b.less(a)


@op_definition
class GreaterEqualOp(ComparisonOp):
    """`out[i] = a[i] >= b[i]`, broadcast; any dtype, to i1; false when either is NaN."""

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return b.less_equal(a)


@op_definition
class LogicalAndOp(LogicalOp):
    """`out[i] = a[i] and b[i]`, broadcast; i1."""

    FUNCTION: ClassVar[str] = "and"


@op_definition
class LogicalOrOp(LogicalOp):
    """`out[i] = a[i] or b[i]`, broadcast; i1."""

    FUNCTION: ClassVar[str] = "or"


@op_definition
class LogicalXorOp(LogicalOp):
    """`out[i] = either, but not both, of a[i] and b[i]`, broadcast; i1."""

    FUNCTION: ClassVar[str] = "xor"


@op_definition
class LogicalNotOp(UnaryOp):
    """`out[i] = not x[i]`; i1."""

    DOMAIN: ClassVar[Domain] = BOOLS

    def scalar(self, x: Scalar) -> Scalar:
        return ~x

    def reference(self, x: Array) -> Array:
        return evaluate(np.logical_not, x)
