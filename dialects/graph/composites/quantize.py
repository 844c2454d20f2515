"""Quantized tensors: `graph.quantize` and `graph.dequantize`, composites that backends see whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.composites import normal_axis
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import evaluate
from inarch.dialects.graph.elementwise.arithmetic import AddOp, DivOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.unary import RoundOp
from inarch.dialects.graph.op import Array, CompositeOp, Tensor, element_of, shape_of, tensor_dtype
from inarch.dialects.graph.shape import ReshapeOp
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import dtype_of, i64, is_supported, mlir_type, tensor

QUANTIZED = ("i8", "ui8", "i16", "ui16", "i32")
"""The dtypes of quantized tensors."""


class QuantizedOp(CompositeOp):
    """What the two have in common: a scale and a zero point, of the tensor or of each index of one axis."""

    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero = opt_operand_def(TensorType)
    axis = opt_prop_def(IntegerAttr.constr(i64))

    @abstractmethod
    def quantized(self) -> Attribute:
        """The element type of the quantized side."""

    def check_numbers(self) -> None:
        """C3, C4 and C5 of both ops."""
        dtype = dtype_of(self.quantized()).name
        if self.zero is not None:
            found = tensor_dtype(self.zero).name
            require(found == dtype, "C3", f"expected a zero of dtype {dtype}, found {found}")
        shape = shape_of(self.x)
        wanted: list[tuple[int, ...]] = [()]
        if self.axis is not None:
            axis = self.axis.value.data
            has = -len(shape) <= axis < len(shape)
            require(has, "C4", f"expected an axis of a tensor of rank {len(shape)}, found {axis}")
            wanted.append((shape[axis],))
        for name, value in (("scale", self.scale), ("zero", self.zero)):
            if value is None:
                continue
            found = shape_of(value)
            told = " or ".join(map(str, wanted)) if self.axis is not None else "() without an axis"
            require(found in wanted, "C5", f"expected a {name} of shape {told}, found {found}")

    def spread(self, value: SSAValue) -> tuple[list[Operation], SSAValue]:
        """A number, or the numbers of an axis, in a shape that broadcasts over x; and what makes it."""
        if not shape_of(value):
            return [], value
        made = ReshapeOp.make(value, shape=self._column())
        return [made], made.out

    def spread_array(self, array: Array) -> Array:
        """The same of an array."""
        return array.reshape(self._column()) if array.ndim else array

    def _column(self) -> list[int]:
        assert self.axis is not None  # C5
        shape = shape_of(self.x)
        axis = normal_axis(self.axis.value.data, len(shape))
        return [size if d == axis else 1 for d, size in enumerate(shape)]


@op_definition
class QuantizeOp(QuantizedOp):
    """`out[i] = saturate(round(x[i] / scale) + zero)` as the dtype `to`; in f32, halves to even.

    NaN gives 0, as casts do. Where they are vectors, scale and zero are those of i's index along
    `axis`; without zero it is 0. ONNX's QuantizeLinear.
    C1: x is f32. C2: scale is f32, and `to` is i8, ui8, i16, ui16 or i32. C3: zero has the dtype
    `to`. C4: -rank <= axis < rank. C5: scale and zero have shape (), or with an axis that of its size.
    """

    to = prop_def(Attribute)
    out = result_def(TensorType)
    assembly_format = (
        "$x `scale` $scale (`zero` $zero^)? (`axis` `=` $axis^)? `to` $to attr-dict "
        "`:` type($x) `,` type($scale) (`,` type($zero)^)? `->` type($out)"
    )

    def check(self) -> None:
        dtype = tensor_dtype(self.x).name
        require(dtype == "f32", "C1", f"expected x of dtype f32, found {dtype}")
        dtype = tensor_dtype(self.scale).name
        require(dtype == "f32", "C2", f"expected a scale of dtype f32, found {dtype}")
        fits = is_supported(self.to) and dtype_of(self.to).name in QUANTIZED
        require(fits, "C2", f"expected to = {', '.join(QUANTIZED)}, found {self.to}")
        self.check_numbers()

    def quantized(self) -> Attribute:
        return self.to

    def infer(self) -> Sequence[Tensor]:
        return [tensor(self.to, shape_of(self.x))]

    def decompose(self) -> list[Operation]:
        parts: list[Operation] = []
        x = self.x
        if not _is_one(self.scale):
            made, scale = self.spread(self.scale)
            parts += [*made, DivOp.make(x, scale)]
            x = parts[-1].results[0]
        parts.append(RoundOp.make(x))
        if self.zero is not None:
            rounded = parts[-1]
            made, zero = self.spread(self.zero)
            wide = CastOp.make(zero, to=mlir_type("f32"))
            parts += [*made, wide, AddOp.make(rounded, wide)]
        return [*parts, CastOp.make(parts[-1], to=self.to)]

    def reference(self, x: Array, scale: Array, zero: Array | None = None) -> Array:
        limits = np.iinfo(dtype_of(self.to).numpy)

        def quantize() -> Array:
            steps = np.rint(x / self.spread_array(scale))
            if zero is not None:
                steps = steps + self.spread_array(zero).astype(np.float32)
            wide = np.nan_to_num(steps.astype(np.float64), nan=0, posinf=np.inf, neginf=-np.inf)
            return np.clip(wide, limits.min, limits.max)

        return evaluate(quantize, dtype=dtype_of(self.to).numpy)


@op_definition
class DequantizeOp(QuantizedOp):
    """`out[i] = (x[i] - zero) * scale`; the difference is in i32 (it wraps), the product in scale's dtype.

    Where they are vectors, scale and zero are those of i's index along `axis`; without zero it is 0.
    ONNX's DequantizeLinear has a scale of f32. One of i32 that is 1 gives the integers that products
    of quantized tensors are made of, exactly (MatMulInteger, QLinearConv).
    No constant is made of it before backends were asked, so that they see the constants of x.
    C1: x is i8, ui8, i16, ui16 or i32. C2: scale is f32 or i32. C3: zero has the dtype of x.
    C4: -rank <= axis < rank. C5: scale and zero have shape (), or with an axis that of its size.
    """

    IS_CHEAP: ClassVar[bool] = True
    out = result_def(TensorType)
    assembly_format = (
        "$x `scale` $scale (`zero` $zero^)? (`axis` `=` $axis^)? attr-dict "
        "`:` type($x) `,` type($scale) (`,` type($zero)^)? `->` type($out)"
    )

    def check(self) -> None:
        dtype = tensor_dtype(self.x).name
        fits = dtype in QUANTIZED
        require(fits, "C1", f"expected x of dtype {', '.join(QUANTIZED)}, found {dtype}")
        dtype = tensor_dtype(self.scale).name
        require(
            dtype in ("f32", "i32"), "C2", f"expected a scale of dtype f32 or i32, found {dtype}"
        )
        self.check_numbers()

    def folds(self) -> bool:
        return False

    def quantized(self) -> Attribute:
        return element_of(self.x)

    def infer(self) -> Sequence[Tensor]:
        return [tensor(element_of(self.scale), shape_of(self.x))]

    def decompose(self) -> list[Operation]:
        parts: list[Operation] = [CastOp.make(self.x, to=mlir_type("i32"))]
        if self.zero is not None:
            x = parts[-1]
            made, zero = self.spread(self.zero)
            wide = CastOp.make(zero, to=mlir_type("i32"))
            parts += [*made, wide, SubOp.make(x, wide)]
        if tensor_dtype(self.scale).name != "i32":
            parts.append(CastOp.make(parts[-1], to=element_of(self.scale)))
        if not _is_one(self.scale):
            x = parts[-1]
            made, scale = self.spread(self.scale)
            parts += [*made, MulOp.make(x, scale)]
        return parts

    def reference(self, x: Array, scale: Array, zero: Array | None = None) -> Array:
        def dequantize() -> Array:
            wide = x.astype(np.int64)
            if zero is not None:
                wide = wide - self.spread_array(zero).astype(np.int64)
            return wide.astype(np.int32).astype(scale.dtype) * self.spread_array(scale)

        return evaluate(dequantize, dtype=scale.dtype)


def _is_one(scale: SSAValue) -> bool:
    """Whether a scale is known to be the number 1: nothing is multiplied, or divided, by it."""
    owner = scale.owner
    if not isinstance(owner, ConstantOp) or shape_of(scale):
        return False
    value = owner.value
    return isinstance(value, DenseIntOrFPElementsAttr) and value.get_values()[0] == 1
