"""Quantized tensors: QuantizeLinear, DequantizeLinear, and products of integers.

`x = (q - zero_point) * scale`. Products are of 32-bit integers, which hold them exactly. All of them
come in through `graph.dequantize` and `graph.quantize`, so that a backend sees the weights as they are in
the model; but those of blocks, which are written out.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import Property, shape_of, tensor_dtype
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.elementwise.elementwise import saturated_cast
from inarch.frontends.onnx.ops.images.window import sliding
from inarch.frontends.onnx.ops.products.packed import dequantized
from inarch.frontends.onnx.tensors import element_dtype, narrow_dtype
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type

_FLOATS = ("f32", "f16", "bf16")
"""The dtypes of scales, and of what is computed with them."""


def _quantize(node: Node) -> SSAValue:
    """`saturate(round(x / scale) + zero)`; divided in `precision`, which is the scale's dtype if not said."""
    found = node.dtype(1).name
    if found not in _FLOATS:
        raise NotSupportedError(f"a scale of {found}")
    wanted = node.int("precision", 0)
    precision = element_dtype(wanted).name if wanted else found
    if precision not in _FLOATS:
        raise NotSupportedError(f"a precision of {precision}")
    result, bits = "ui8", 0
    if node.has(2):
        result, bits = node.dtype(2).name, node.builder.narrow.get(node.x(2), 0)
    elif wanted := node.int("output_dtype", 0):
        narrow = narrow_dtype(wanted)
        result, bits = (narrow[0].name, narrow[1]) if narrow else (element_dtype(wanted).name, 0)
    if DTYPES[result].is_stored:
        return _quantize_to_float(node, node.cast(node.x(0), "f32"), DTYPES[result])
    x = node.cast(node.x(0), precision)
    scale = node.cast(node.x(1), precision)
    if node.int("block_size", 0) or bits:
        zero = _spread(node, node.x(2), x) if node.has(2) else None
        return _round(node, node.graph.div(x, _spread(node, scale, x)), zero, result, bits)
    scale, *zeros = _numbers(node, x, scale)
    if precision != "f32":  # the quotient is rounded to it, and is whole or halved in f32
        x = node.cast(node.graph.div(x, _spread(node, scale, x)), "f32")
        scale = node.constant(np.array(1, np.float32))
    return node.graph.quantize(x, scale, *zeros, **_axis(node, x), to=mlir_type(result))


def _quantize_to_float(node: Node, x: SSAValue, dtype: DType) -> SSAValue:
    """`saturate(x / scale + zero)`, rounded as casts to that dtype are; constant zeros stay out, for -0."""
    scaled = node.graph.div(x, _spread(node, node.cast(node.x(1), "f32"), x))
    known = node.builder.arrays.get(node.x(2)) if node.has(2) else None
    if node.has(2) and (known is None or known.any()):
        scaled = node.graph.add(scaled, _spread(node, node.cast(node.x(2), "f32"), x))
    return saturated_cast(node, scaled, dtype)


def _spread(node: Node, value: SSAValue, x: SSAValue) -> SSAValue:
    """Scales or zero points in a shape that broadcasts to x's: of blocks, of an axis, or one of all."""
    if node.int("block_size", 0):
        return _blocks(node, value, x)
    value = _one_or_along(node, value, x)
    if not shape_of(value):
        return value
    axis, rank = node.axis(node.int("axis", 1), len(shape_of(x))), len(shape_of(x))
    return node.reshape(value, [shape_of(x)[d] if d == axis else 1 for d in range(rank)])


def _round(node: Node, x: SSAValue, zero: SSAValue | None, result: str, bits: int) -> SSAValue:
    """`saturate(round(x) + zero)`; casts to integers saturate, those to fewer bits are clipped before."""
    rounded = node.graph.round(node.cast(x, "f32"))
    if zero is not None:
        rounded = node.graph.add(rounded, node.cast(zero, "f32"))
    if not bits:
        return node.cast(rounded, result)
    least = 0 if DTYPES[result].is_unsigned else -(1 << (bits - 1))
    clipped = node.graph.minimum(node.graph.maximum(rounded, least), least + (1 << bits) - 1)
    found = node.cast(clipped, result)
    node.builder.narrow[found] = bits
    return found


def _dequantize(node: Node) -> SSAValue:
    """`(x - zero) * scale`, the product in f32; of another dtype it is rounded to that once."""
    found, wanted = node.dtype(1).name, node.int("output_dtype", 0)
    if found not in _FLOATS:
        raise NotSupportedError(f"a scale of {found}")
    result = element_dtype(wanted).name if wanted else found
    if result not in _FLOATS:
        raise NotSupportedError(f"a result of {result}")
    return node.cast(_dequantized(node, node.x(0), node.cast(node.x(1), "f32")), result)


def _dequantized(node: Node, x: SSAValue, scale: SSAValue) -> SSAValue:
    """`(x - zero) * scale`, in f32."""
    if node.dtype(0).is_stored:
        wide = node.cast(x, "f32")
        if node.has(2):
            wide = node.graph.sub(wide, _spread(node, node.cast(node.x(2), "f32"), x))
        return node.graph.mul(wide, _spread(node, scale, x))
    if not node.int("block_size", 0):
        return node.graph.dequantize(x, *_numbers(node, x, scale), **_axis(node, x))
    if (packed := _packed(node, x, scale)) is not None:
        return packed
    wide = node.cast(x, "i32")
    if node.has(2):
        wide = node.graph.sub(wide, node.cast(_blocks(node, node.x(2), x), "i32"))
    return node.graph.mul(node.cast(wide, "f32"), _blocks(node, scale, x))


def _packed(node: Node, x: SSAValue, scale: SSAValue) -> SSAValue | None:
    """A constant matrix of i8 or ui8 with scales of blocks, which stays packed; None of anything else."""
    q, rank = node.builder.arrays.get(x), len(shape_of(x))
    zero = node.builder.arrays.get(node.x(2)) if node.has(2) else None
    is_known = q is not None and (zero is not None or not node.has(2))
    if q is None or not is_known or rank != 2 or q.dtype.itemsize != 1 or len(shape_of(scale)) != 2:
        return None
    axis, block = _check_blocks(node, scale, x)
    if zero is not None:
        _check_blocks(node, node.x(2), x)
    return dequantized(node, q, scale, zero, block, axis)


def _numbers(node: Node, x: SSAValue, scale: SSAValue) -> list[SSAValue]:
    """The scale and the zero point, if any, of x: one of all, or those of an axis."""
    values = [scale, *([node.x(2)] if node.has(2) else [])]
    return [_one_or_along(node, value, x) for value in values]


def _one_or_along(node: Node, value: SSAValue, x: SSAValue) -> SSAValue:
    found, shape = shape_of(value), shape_of(x)
    if found in ((), (1,)):
        return node.reshape(value, ())
    axis = node.axis(node.int("axis", 1), len(shape))
    if found != (shape[axis],):
        raise InarchError(f"expected one number, or {shape[axis]}, found shape {found}")
    return value


def _axis(node: Node, x: SSAValue) -> dict[str, Property]:
    """The axis of x that its numbers are along, if they are."""
    given = [index for index in (1, 2) if node.has(index)]
    if all(node.shape(index) in ((), (1,)) for index in given):
        return {}
    return {"axis": node.axis(node.int("axis", 1), len(shape_of(x)))}


def _blocks(node: Node, value: SSAValue, x: SSAValue) -> SSAValue:
    """A scale or zero point of blocks of x along an axis, in the shape of x; or one of all."""
    found, shape = shape_of(value), shape_of(x)
    if found in ((), (1,)):
        return node.reshape(value, ())
    axis, block = _check_blocks(node, value, x)
    node.room(shape[axis])
    indices = np.arange(shape[axis]) // block
    return node.graph.gather(value, node.constant(indices), axis=axis)


def _check_blocks(node: Node, value: SSAValue, x: SSAValue) -> tuple[int, int]:
    """The axis of the blocks, and their size. Raises InarchError where `value` has another shape."""
    found, shape = shape_of(value), shape_of(x)
    axis, block = node.axis(node.int("axis", 1), len(shape)), node.int("block_size", 0)
    if block < 0:
        raise InarchError(f"expected block_size >= 0, found {block}")
    blocks = tuple(-(-size // block) if d == axis else size for d, size in enumerate(shape))
    if found != blocks:
        raise InarchError(f"expected a shape {blocks} of blocks of {block}, found {found}")
    return axis, block


def _matmul_integer(node: Node) -> SSAValue:
    return _product(node, (0, 2), (1, 3))


def _q_linear_matmul(node: Node) -> SSAValue:
    return _requantize(node, _product(node, (0, 2), (3, 5)), (1, 4))


def _conv_integer(node: Node) -> SSAValue:
    return _convolution(node, (0, 2), (1, 3))


def _q_linear_conv(node: Node) -> SSAValue:
    """The bias, if any, is in 32 bits at the scale of the product."""
    return _requantize(node, _convolution(node, (0, 2), (3, 5), bias=8), (1, 4))


def _product(node: Node, left: tuple[int, int], right: tuple[int, int]) -> SSAValue:
    """The product of two matrices; each is an input and that of its zero points."""
    if min(len(node.shape(left[0])), len(node.shape(right[0]))) < 2:
        raise NotSupportedError("an operand of rank 1")
    a, b = _integers(node, left, -2), _integers(node, right, -1)
    return node.graph.matmul(a, b)


def _convolution(
    node: Node, data: tuple[int, int], weights: tuple[int, int], bias: int | None = None
) -> SSAValue:
    """Padding is with what stands for zero, so with 0 once the zero point is taken away."""
    window = node.shape(weights[0])[2:]
    x, w = _integers(node, data, -1), _integers(node, weights, 0)
    rest = [node.x(bias)] if bias is not None and node.has(bias) else []
    properties = sliding(node, window)
    return node.graph.conv(x, w, *rest, groups=node.int("group", 1), **properties)


def _integers(node: Node, value: tuple[int, int], axis: int) -> SSAValue:
    """An input less its zero points, in 32 bits: dequantized by 1. Several are of `axis`."""
    one = node.constant(np.array(1, np.int32))
    x = node.x(value[0])
    if not node.has(value[1]):
        return node.graph.dequantize(x, one)
    zero = node.x(value[1])
    found = shape_of(zero)
    if found in ((), (1,)):
        return node.graph.dequantize(x, one, node.reshape(zero, ()))
    if len(found) != 1:
        raise NotSupportedError(f"zero points of shape {found}")
    return node.graph.dequantize(x, one, zero, axis=axis)


def _requantize(node: Node, product: SSAValue, scales: tuple[int, int]) -> SSAValue:
    """`product * scales[0] * scales[1] / scale` of input 6, rounded, with zero point input 7."""
    a, b, result = node.x(scales[0]), node.x(scales[1]), node.x(6)
    for scale in (a, b, result):
        if tensor_dtype(scale).name != "f32":
            raise NotSupportedError(f"a scale of {tensor_dtype(scale).name}")
    if shape_of(a) not in ((), (1,)) or shape_of(result) not in ((), (1,)):
        raise NotSupportedError("a scale of each row")
    a, result = node.reshape(a, ()), node.reshape(result, ())
    along: dict[str, Property] = {}
    if shape_of(b) in ((), (1,)):
        b = node.reshape(b, ())
    elif len(shape_of(b)) == 1:
        along = {"axis": 1 if node.op == "QLinearConv" else -1}
    else:
        raise NotSupportedError(f"scales of shape {shape_of(b)}")
    factor = node.graph.div(node.graph.mul(a, b), result)
    scaled = node.graph.dequantize(product, factor, **along)
    zero = node.x(7)
    if shape_of(zero) not in ((), (1,)):
        raise NotSupportedError("a zero point of each row")
    one = node.constant(np.array(1, np.float32))
    to = mlir_type(tensor_dtype(zero).name)
    return node.graph.quantize(scaled, one, node.reshape(zero, ()), to=to)


_ATTRIBUTES = typed(INT="axis block_size output_dtype saturate")

CONVERTERS: dict[str, Converter] = {
    "com.microsoft.DequantizeLinear": under(Contract((2, 3), attributes=_ATTRIBUTES), _dequantize),
    "com.microsoft.QuantizeLinear": under(Contract((2, 3), attributes=_ATTRIBUTES), _quantize),
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _q_linear_conv,
    "QLinearMatMul": _q_linear_matmul,
    "QuantizeLinear": _quantize,
}
