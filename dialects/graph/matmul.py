"""`graph.matmul`: the product of (batches of) matrices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, opt_prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.factors import check_factors, factors
from inarch.dialects.graph.op import (
    Array,
    StructuredOp,
    Tensor,
    broadcast,
    element_of,
    shape_of,
)
from inarch.dialects.nest_spec import NestBuilder, NestSpec, multiply_add
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import tensor


@op_definition
class MatmulOp(StructuredOp):
    """`out[b.., m, n] = sum over k of x[b.., m, k] * y[b.., k, n]`.

    The leading (batch) dimensions broadcast as in NumPy; `out` has the dtype of x. Integers wrap.
    With `to`, x and y are narrow numbers, whose products are summed up in it: the dtype of `out`.
    C1: x and y have one dtype, not bool; with `to` = i32 each i8, ui8, i16 or ui16, with `to` = f32 each f32
    or computed with in it. C2: both have rank 2 or more. C3: the last size of x is the last but one of y.
    C4: the batch dimensions broadcast.
    """

    x = operand_def(TensorType)
    y = operand_def(TensorType)
    to = opt_prop_def(Attribute)
    out = result_def(TensorType)

    def takes_stored(self) -> bool:
        return self.to is not None

    def check(self) -> None:
        check_factors("C1", self.x, self.y, [], self.to)
        x, y = shape_of(self.x), shape_of(self.y)
        matrices = len(x) >= 2 and len(y) >= 2
        require(matrices, "C2", f"expected shapes of rank 2 or more, found {x} and {y}")
        depth, rows = x[len(x) - 1], y[len(y) - 2]
        require(depth == rows, "C3", f"expected {depth} rows in the second operand, found {rows}")
        fit = broadcast(x[:-2], y[:-2]) is not None
        require(fit, "C4", f"batch dimensions {x[:-2]} and {y[:-2]} do not broadcast")

    def infer(self) -> Sequence[Tensor]:
        x, y = shape_of(self.x), shape_of(self.y)
        batch = broadcast(x[:-2], y[:-2])
        assert batch is not None  # C4
        return [tensor(self.to or element_of(self.x), (*batch, x[-2], y[-1]))]

    def nest(self) -> NestSpec:
        (result,) = self.infer()
        shape, x, y = tuple(result.get_shape()), shape_of(self.x), shape_of(self.y)
        builder = NestBuilder()
        batch = builder.shape(shape[:-2], "b")
        m, n = builder.parallel("m", shape[-2]), builder.parallel("n", shape[-1])
        k = builder.reduction("k", x[-1])
        reads = [(*_batch(batch, x[:-2]), m, k), (*_batch(batch, y[:-2]), k, n)]
        return builder.spec(reads, (*batch, m, n), multiply_add, init=0)

    def reference(self, x: Array, y: Array) -> Array:
        return np.matmul(*factors(self.to, x, y))


def _batch(index: Sequence[AffineExpr], shape: Sequence[int]) -> list[AffineExpr | int]:
    """How an operand with these batch dimensions is indexed."""
    last = index[len(index) - len(shape) :]
    return [0 if size == 1 else expr for size, expr in zip(shape, last, strict=True)]
