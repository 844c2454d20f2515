"""What quantized networks have between layers: quantize and dequantize, of a tensor or of an axis."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.graph.composites.quantize import QUANTIZED
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.ir.types import mlir_type
from inarch.testing.generate.graph.builder import GraphBuilder


def quantized(b: GraphBuilder) -> None:
    """A value as integers, and mostly back: what quantized networks have between layers."""
    f32 = DTYPES["f32"]
    x = b.value(lambda dtype: dtype is f32)
    to = DTYPES[b.choices.pick(QUANTIZED)]
    numbers, properties = _scale_and_zero(b, x, f32, to)
    q = b.graph.quantize(x, *numbers, to=mlir_type(to), **properties)
    if b.choices.chance(70):
        b.graph.dequantize(q, *numbers, **properties)


def dequantized(b: GraphBuilder) -> None:
    """A value, or constant weights, by a scale of floats, or as integers."""
    x = b.value(lambda dtype: dtype.name in QUANTIZED)
    scale = DTYPES[b.choices.pick(("f32", "f32", "i32"))]
    numbers, properties = _scale_and_zero(b, x, scale, tensor_dtype(x))
    b.graph.dequantize(x, *numbers, **properties)


def dequantized_packed(b: GraphBuilder) -> None:
    """Weights of a few bits, in words, as floats."""
    operands, properties, _ = _packed(b)
    b.graph.dequantize_packed(*operands, **properties)


def packed_product(b: GraphBuilder) -> None:
    """A product by such weights."""
    operands, properties, columns = _packed(b)
    x = b.fresh(DTYPES["f32"], (b.choices.pick((1, 2, 5, 9)), columns))
    b.graph.matmul_packed(x, *operands, **properties)


def _packed(b: GraphBuilder) -> tuple[list[SSAValue], dict[str, Any], int]:
    """Words, scales and maybe zero points; properties; the weights of a row."""
    bits, rows = b.choices.pick((4, 2, 8)), b.choices.pick((3, 16, 1, 20, 37))
    blocks, words = b.choices.integer(1, 3), b.choices.integer(1, 4)
    operands = [b.fresh(DTYPES["i32"], (rows, blocks * words), 70)]
    operands.append(b.fresh(DTYPES["f32"], (rows, blocks), 70))
    if b.choices.chance(60):
        operands.append(b.fresh(DTYPES[b.choices.pick(("i8", "f32"))], (rows, blocks), 70))
    return operands, {"bits": bits}, blocks * words * (32 // bits)


def _scale_and_zero(
    b: GraphBuilder, x: SSAValue, scale: DType, zero: DType
) -> tuple[list[SSAValue], dict[str, Any]]:
    """Of the tensor or of an axis, mostly constants."""
    sizes = shape_of(x)
    axis = (
        b.choices.integer(-len(sizes), len(sizes) - 1) if sizes and b.choices.chance(50) else None
    )
    shapes = [() if axis is None or b.choices.chance(25) else (sizes[axis],) for _ in range(2)]
    numbers = [b.fresh(scale, shapes[0], 80)]
    if b.choices.chance(60):
        numbers.append(b.fresh(zero, shapes[1], 80))
    return numbers, {} if axis is None else {"axis": axis}
