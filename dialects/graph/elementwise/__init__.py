"""Families of elementwise ops: one that applies a scalar function is a class with a name and a docstring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, result_def

from inarch.core.lazy import np
from inarch.core.scalars.functions import FUNCTIONS, OF_MEANINGS, Function
from inarch.dialects.graph.domain import FLOATS, NUMBERS, Domain
from inarch.dialects.graph.op import (
    Array,
    StructuredOp,
    Tensor,
    broadcast,
    element_of,
    shape_of,
    tensor_dtype,
)
from inarch.dialects.nest_spec import NestBuilder, NestSpec
from inarch.dialects.scalar import Scalar
from inarch.ir.require import require
from inarch.ir.types import tensor


def evaluate(function: Callable[..., Any], *operands: Any, dtype: Any = None) -> Array:
    """`function(*operands)` as an array (of `dtype`, if given), without floating-point warnings.

    Infinities and NaN are results like any other.
    """
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands), dtype)


class ElementwiseOp(StructuredOp):
    """`out[i] = scalar(operands[i] ...)` with NumPy broadcasting; one result."""

    FUNCTION: ClassVar[str] = ""
    """The row of `FUNCTIONS` that it applies; where it is empty, the row of the op's own name."""
    DOMAIN: ClassVar[Domain]
    """The dtypes that an op of numbers is defined on."""

    def scalar(self, *operands: Any, **_: Any) -> Scalar:
        """The op on one element of each operand, a `Scalar` each; ops name their parameters."""
        first, *rest = operands
        return first.function(self._row.name, *rest)

    def reference(self, *operands: Any, **_: Any) -> Array:
        return evaluate(self._row.compute, *operands, dtype=operands[0].dtype)

    @property
    def _row(self) -> Function:
        name = self.FUNCTION or self.name.removeprefix("graph.")
        return FUNCTIONS.get(name) or OF_MEANINGS[name]

    def result_element(self) -> Attribute:
        """The result's element type: that of the last operand."""
        return element_of(self.operands[-1])

    def infer(self) -> Sequence[Tensor]:
        shape = broadcast(*(shape_of(operand) for operand in self.operands))
        assert shape is not None  # `check` has seen to it
        return [tensor(self.result_element(), shape)]

    def nest(self) -> NestSpec:
        builder = NestBuilder()
        (result,) = self.infer()
        index = builder.shape(result.get_shape())
        reads = [
            tuple(0 if size == 1 else i for i, size in zip(_last(index, shape), shape, strict=True))
            for shape in (shape_of(operand) for operand in self.operands)
        ]
        return builder.spec(reads, index, self.scalar)


def _last(index: Sequence[AffineExpr], shape: Sequence[int]) -> Sequence[AffineExpr]:
    return index[len(index) - len(shape) :]


class UnaryOp(ElementwiseOp):
    """`out[i] = f(x[i])`; `out` has the shape of `x`.

    C1: the op is defined on the dtype of x.
    """

    x = operand_def(TensorType)
    out = result_def(TensorType)
    # Ops of others are defined by xDSL, which knows no `format_of`.
    assembly_format = "$x attr-dict `:` type($x) `->` type($out)"

    DOMAIN: ClassVar[Domain] = FLOATS

    def check(self) -> None:
        self.DOMAIN.check(self.x, "C1")


class UnaryNumberOp(UnaryOp):
    """A unary op on floats and integers. C1: the dtype of x is not i1."""

    DOMAIN: ClassVar[Domain] = NUMBERS


class BinaryOp(ElementwiseOp):
    """`out[i] = f(a[i], b[i])`, broadcast.

    C1: a and b have one dtype. C2: their shapes broadcast. C3: the op is defined on the dtype.
    """

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = "$a `,` $b attr-dict `:` type($a) `,` type($b) `->` type($out)"

    DOMAIN: ClassVar[Domain] = NUMBERS

    def check(self) -> None:
        left, right = tensor_dtype(self.a), tensor_dtype(self.b)
        require(left == right, "C1", f"expected one dtype, found {left.name} and {right.name}")
        a, b = shape_of(self.a), shape_of(self.b)
        require(broadcast(a, b) is not None, "C2", f"shapes {a} and {b} do not broadcast")
        self.DOMAIN.check(self.a, "C3")
