"""`graph.cast`: elementwise conversion to another dtype."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import np
from inarch.dialects.graph.elementwise import ElementwiseOp, evaluate
from inarch.dialects.graph.op import Array, tensor_dtype
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import dtype_of, is_supported


@op_definition
class CastOp(ElementwiseOp):
    """`out[i] = x[i]` as the dtype `to`; from and to any dtype.

    To i1 means `x[i] != 0` (NaN is true). Floats to integers truncate towards zero and saturate;
    NaN gives 0. Integers to narrower ones wrap; to floats, and f64 to f32, they round to nearest,
    halves to even. A dtype that is only stored is cast by way of the one in which it is computed with.
    C1: `to` is a supported dtype.
    """

    MOVES: ClassVar[bool] = True
    x = operand_def(TensorType)
    to = prop_def(Attribute)
    out = result_def(TensorType)
    assembly_format = "$x `to` $to attr-dict `:` type($x) `->` type($out)"

    def check(self) -> None:
        require(is_supported(self.to), "C1", f"expected a supported dtype, found {self.to}")

    def result_element(self) -> Attribute:
        return self.to

    def scalar(self, x: Scalar) -> Scalar:
        return x.cast(dtype_of(self.to))

    def reference(self, x: Array) -> Array:
        source, target = tensor_dtype(self.x), dtype_of(self.to)
        for by in filter(None, (source.arithmetic, target.arithmetic)):
            x = evaluate(x.astype, DTYPES[by].numpy)
        dtype = np.dtype(target.numpy)
        if dtype.kind in "iu" and x.dtype.kind == "f":
            return evaluate(_saturate, x, dtype, dtype=dtype)
        if dtype.kind == "b":
            return evaluate(np.not_equal, x, 0)
        return evaluate(x.astype, dtype)


def _saturate(x: Array, dtype: np.dtype[Any]) -> Array:
    """Floats as integers; each limit is compared as the float that is exactly it, or one beyond."""
    limits = np.iinfo(dtype)
    inside = np.where(np.isnan(x), 0, x).astype(dtype)
    raised = np.where(x <= float(limits.min), limits.min, inside)
    return np.where(x >= float(limits.max) + 1, limits.max, raised)
