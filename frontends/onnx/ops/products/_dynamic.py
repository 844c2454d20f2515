"""Products of numbers that are quantized when they are known, with weights that are quantized already."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import Property, shape_of, tensor_dtype
from inarch.frontends.onnx.node import Node
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type

Quantized = tuple[SSAValue, SSAValue, SSAValue | None]
"""A tensor of 8 bits, its scale, f32, and its zero point: of shape (), or a number a column."""


def quantized(node: Node, x: SSAValue) -> Quantized:
    """x, of f32, in ui8, with one scale and one zero point of all: ONNX's DynamicQuantizeLinear.

    The scale is that of the numbers from the least to the largest and 0, over 255; 1 where all are 0.
    """
    axes, zero = list(range(len(shape_of(x)))), node.like(0, x)
    low = node.graph.minimum(node.graph.reduce_min(x, axes=axes, keepdims=False), zero)
    high = node.graph.maximum(node.graph.reduce_max(x, axes=axes, keepdims=False), zero)
    span = node.graph.sub(high, low)
    scale = node.graph.div(span, 255)
    scale = node.graph.select(node.graph.equal(span, zero), 1, scale)
    steps = node.graph.round(node.graph.div(node.graph.neg(low), scale))
    point = node.graph.cast(steps, to=mlir_type("ui8"))
    return node.graph.quantize(x, scale, point, to=mlir_type("ui8")), scale, point


def scaled_product(node: Node, left: Quantized, right: Quantized) -> SSAValue:
    """`(a - zero_a) @ (b - zero_b) * scale_a * scale_b`, f32; the products are exact, in i32."""
    a, b = (integers(node, *value) for value in (left, right))
    factor = node.graph.mul(left[1], right[1])
    along: dict[str, Property] = {"axis": -1} if shape_of(factor) else {}
    return node.graph.dequantize(node.graph.matmul(a, b), factor, **along)


def integers(node: Node, x: SSAValue, _: SSAValue, zero: SSAValue | None) -> SSAValue:
    """X less its zero points, in i32: of a `Quantized`."""
    one = node.constant(np.array(1, np.int32))
    if zero is None:
        return node.graph.dequantize(x, one)
    along: dict[str, Property] = {"axis": -1} if shape_of(zero) else {}
    return node.graph.dequantize(x, one, zero, **along)


def weights(
    node: Node, value: SSAValue, scale: SSAValue, zero: SSAValue | None, what: str
) -> Quantized:
    """A matrix of 8 bits with one number of all, or one a column. Raises where they do not fit."""
    columns = shape_of(value)[-1]
    if tensor_dtype(scale).name != "f32":
        raise NotSupportedError(f"a scale of {what} of {tensor_dtype(scale).name}")
    numbers = [scale] if zero is None else [scale, zero]
    found: list[SSAValue] = []
    for number in numbers:
        shape = shape_of(number)
        if shape not in ((), (1,), (columns,)):
            raise InarchError(
                f"expected one scale and zero point of {what}, or {columns}, found shape {shape}"
            )
        found.append(number if shape == (columns,) and columns > 1 else node.reshape(number, ()))
    return value, found[0], found[1] if len(found) > 1 else None
