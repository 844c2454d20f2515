"""Weights of 2, 4 or 8 bits, with a scale for each block: `graph.dequantize_packed`, `graph.matmul_packed`.

A word of i32 holds 32 / bits of them, the first one in the lowest bits; along the last axis, which blocks
divide, there are so many words as the weights of a block take, or a multiple.

    q[.., k] = (w[.., k / per] >> bits * (k % per)) & (2**bits - 1)                     per = 32 / bits
    weight[.., k] = (q[.., k] - zero[.., k / block]) * scale[.., k / block]             block = K / blocks
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerAttr, TensorType
from xdsl.ir import Operation
from xdsl.irdl import operand_def, opt_operand_def, prop_def, result_def

from inarch.core.dtypes import from_numpy
from inarch.core.lazy import np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import MulOp, SubOp
from inarch.dialects.graph.elementwise.bitwise import BitwiseAndOp, ShiftRightOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.op import (
    Array,
    CompositeOp,
    GraphOp,
    Tensor,
    element_of,
    shape_of,
    tensor_dtype,
)
from inarch.dialects.graph.shape import ReshapeOp
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import f32, i64, mlir_type, tensor

WORD = 32
"""Bits of a word."""
BITS = (2, 4, 8)
"""What a weight may take: a word holds them whole."""
ZEROS = ("f32", "i8")
"""The dtypes of zero points: i8 holds those of 2 and 4 bits."""


def packed_words(q: Array, bits: int) -> Array:
    """Integers from 0 to 2**bits - 1 in words, along the last axis, whose size words divide.

    >>> packed_words(np.array([[1, 2, 3, 4, 5, 6, 7, 8]], np.uint8), 4)
    array([[-2023406815]], dtype=int32)
    """
    per = 8 // bits
    fields = q.astype(np.uint8, copy=False).reshape(*q.shape[:-1], q.shape[-1] // per, per)
    shifts = np.arange(per, dtype=np.uint8) * np.uint8(bits)
    found = np.bitwise_or.reduce(fields << shifts, axis=-1, dtype=np.uint8)
    return np.ascontiguousarray(found).view("<i4")


def unpacked_words(w: Array, bits: int) -> Array:
    """What `packed_words` was given, as ui8."""
    per = 8 // bits
    fields = np.ascontiguousarray(w).view(np.uint8)[..., None]
    shifts = np.arange(per, dtype=np.uint8) * np.uint8(bits)
    found = (fields >> shifts) & np.uint8((1 << bits) - 1)
    return found.reshape(*w.shape[:-1], w.shape[-1] * WORD // bits)


def _constant(array: Array) -> ConstantOp:
    """A constant that stands in the program itself."""
    kind = tensor(mlir_type(from_numpy(array.dtype.name)), array.shape)
    return ConstantOp.make(value=DenseIntOrFPElementsAttr(kind, BytesAttr(array.tobytes())))  # pyright: ignore[reportArgumentType]


class PackedOp(GraphOp):
    """What the two have in common: the words, the scales, the zero points."""

    w = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero = opt_operand_def(TensorType)
    bits = prop_def(IntegerAttr.constr(i64))

    @property
    def per(self) -> int:
        """Weights of a word."""
        return WORD // self.bits.value.data

    @property
    def columns(self) -> int:
        """Weights along the last axis."""
        return shape_of(self.w)[-1] * self.per

    @property
    def block(self) -> int:
        """Weights of a scale."""
        return self.columns // shape_of(self.scale)[-1]

    def check_packed(self) -> None:
        """C1 to C4 of both."""
        bits, w, scale = self.bits.value.data, shape_of(self.w), shape_of(self.scale)
        require(bits in BITS, "C1", f"expected bits = 2, 4 or 8, found {bits}")
        found = [tensor_dtype(value).name for value in (self.w, self.scale)]
        told = "expected words of i32 and scales of f32, found {} and {}"
        require(found == ["i32", "f32"], "C2", told, *found)
        fits = len(w) >= 2 and w[:-1] == scale[:-1] and scale[-1] > 0 and w[-1] % scale[-1] == 0
        require(fits, "C3", f"expected a scale for each block of words of shape {w}, found {scale}")
        if self.zero is not None:
            zero = tensor_dtype(self.zero).name
            require(
                zero in ZEROS, "C4", f"expected zero points of {' or '.join(ZEROS)}, found {zero}"
            )
            same = shape_of(self.zero) == scale
            require(
                same, "C4", f"expected zero points of shape {scale}, found {shape_of(self.zero)}"
            )

    def dequantized(self, w: Array, scale: Array, zero: Array | None) -> Array:
        """The weights, in f32."""
        q = unpacked_words(w, self.bits.value.data).astype(np.float32)
        blocks = q.reshape(*scale.shape, self.block)
        if zero is None:
            zero = np.full((), self.middle, np.float32)
        number = blocks - (zero[..., None] if zero.ndim else zero).astype(np.float32)
        return (number * scale[..., None]).reshape(q.shape)

    @property
    def middle(self) -> float:
        """The zero point where there is no operand for it: half of the range."""
        return float(1 << (self.bits.value.data - 1))


@op_definition
class DequantizePackedOp(PackedOp, CompositeOp):
    """`out[.., k] = (q[.., k] - zero[.., k / block]) * scale[.., k / block]`, q as the words of i32 hold it.

    Without zero it is half of the range: 8 of 4 bits. ONNX's DequantizeLinear of blocks.
    C1: bits are 2, 4 or 8. C2: w is i32, scale f32. C3: w has rank 2 or more, and scale its sizes but for the
    last one, which divides that of w. C4: zero is f32 or i8, of the shape of scale.
    """

    name = "graph.dequantize_packed"
    out = result_def(TensorType)
    assembly_format = (
        "$w `scale` $scale (`zero` $zero^)? `bits` `=` $bits attr-dict "
        "`:` type($w) `,` type($scale) (`,` type($zero)^)? `->` type($out)"
    )

    def check(self) -> None:
        self.check_packed()

    def infer(self) -> Sequence[Tensor]:
        return [tensor(f32, (*shape_of(self.w)[:-1], self.columns))]

    def folds(self) -> bool:
        return False

    def decompose(self) -> list[Operation]:
        bits, per = self.bits.value.data, self.per
        rows, blocks = shape_of(self.w)[:-1], shape_of(self.scale)[-1]
        shifts = _constant(np.arange(per, dtype=np.int32) * np.int32(bits))
        mask = _constant(np.array((1 << bits) - 1, np.int32))
        words = ReshapeOp.make(self.w, shape=[*rows, blocks, self.block // per, 1])
        shifted = ShiftRightOp.make(words, shifts)
        q = BitwiseAndOp.make(shifted, mask)
        number = CastOp.make(q, to=f32)
        parts: list[Operation] = [shifts, mask, words, shifted, q, number]
        column = [*rows, blocks, 1, 1]
        if self.zero is None:
            zero: Operation = _constant(np.array(self.middle, np.float32))
        else:
            wide = CastOp.make(self.zero, to=f32) if element_of(self.zero) != f32 else None
            parts += [wide] if wide is not None else []
            zero = ReshapeOp.make(wide if wide is not None else self.zero, shape=column)
        scale = ReshapeOp.make(self.scale, shape=column)
        less = SubOp.make(number, zero)
        scaled = MulOp.make(less, scale)
        end = ReshapeOp.make(scaled, shape=[*rows, self.columns])
        return [*parts, zero, scale, less, scaled, end]

    def reference(self, w: Array, scale: Array, zero: Array | None = None) -> Array:
        return self.dequantized(w, scale, zero)


@op_definition
class MatmulPackedOp(PackedOp):
    """`out[m, n] = sum over k of x[m, k] * weight[n, k]`, the weights those of `graph.dequantize_packed`.

    They stay packed: a nest takes them apart as it goes. com.microsoft's MatMulNBits.
    C1: bits are 2, 4 or 8. C2: w is i32, scale f32. C3: w has rank 2, and scale its sizes but for the last
    one, which divides that of w. C4: zero is f32 or i8, of the shape of scale. C5: x is f32, of rank 2, and
    has as many columns as there are weights.
    """

    name = "graph.matmul_packed"
    x = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = (
        "$x `weights` $w `scale` $scale (`zero` $zero^)? `bits` `=` $bits attr-dict "
        "`:` type($x) `,` type($w) `,` type($scale) (`,` type($zero)^)? `->` type($out)"
    )

    def check(self) -> None:
        self.check_packed()
        x, rank = shape_of(self.x), len(shape_of(self.w))
        require(rank == 2, "C3", f"expected words of rank 2, found {rank}")
        dtype = tensor_dtype(self.x).name
        fits = dtype == "f32" and len(x) == 2 and x[1] == self.columns
        require(
            fits, "C5", f"expected x of f32 with {self.columns} columns, found {dtype} of shape {x}"
        )

    def infer(self) -> Sequence[Tensor]:
        return [tensor(f32, (shape_of(self.x)[0], shape_of(self.w)[0]))]

    def reference(self, x: Array, w: Array, scale: Array, zero: Array | None = None) -> Array:
        return np.matmul(x, self.dequantized(w, scale, zero).T)
