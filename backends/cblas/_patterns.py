"""What OpenBLAS takes: matrix products and 1x1 convolutions, with what is added to them, and relu.

A product's operand may be transposed where a BLAS can read it as it stands. What is added becomes
the start of C (`beta = 1`), a bias and a residual alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from inarch.backends.cblas._gemm import refuse_pixels
from inarch.backends.cblas._views import refuse_sizes, refuse_transpose
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.shape import TransposeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.offload.pattern import Match, Pattern, any_, named, op, optional

OPS = ("matmul", "conv")


def accepts(operation: Operation) -> str | None:
    """None, or why no match may take this op."""
    dtype = tensor_dtype(operation.results[0]).name
    if dtype not in ("f32", "f64"):
        return f"dtype is {dtype}; takes f32 and f64"
    match operation:
        case MatmulOp():
            return refuse_sizes(*shape_of(operation.x), *shape_of(operation.y))
        case ConvOp():
            return _refuse_conv(operation)
        case TransposeOp():
            return refuse_transpose(shape_of(operation.x), ints(operation.perm))
        case _:
            return None


def _refuse_conv(conv: ConvOp) -> str | None:
    batch, channels, *spatial = shape_of(conv.x)
    outputs, _, *kernel = shape_of(conv.w)
    groups = conv.groups.value.data
    checks: Sequence[tuple[str, Sequence[int], int]] = (
        ("kernel", kernel, 1),
        ("strides", ints(conv.strides), 1),
        ("pads", ints(conv.pads), 0),
    )
    for name, found, taken in checks:
        if any(value != taken for value in found):
            return f"{name} is {list(found)}; takes {[taken] * len(found)}"
    if groups != 1:
        return f"groups is {groups}; takes 1"
    pixels = 1
    for size in spatial:
        pixels *= size
    return refuse_sizes(batch, channels, outputs, pixels)


def _refuse_addend(match: Match) -> str | None:
    """An addend may be broadcast to the product, not the product to it."""
    core = match.ops[-1]
    for operation in match.ops:
        if isinstance(operation, MatmulOp | ConvOp):
            core = operation
    add = match.op("add")
    out, total = shape_of(core.results[0]), shape_of(add.results[0])
    if out != total:
        return f"the sum has shape {list(total)}, the product {list(out)}; takes equal ones"
    others = [value for value in add.operands if value is not core.results[0]]
    if len(others) != 1:
        return "the product is added to itself"
    return refuse_pixels(shape_of(others[0]), out) if isinstance(core, ConvOp) else None


def _relu(inner: Pattern) -> Pattern:
    return op("relu", inner)


def _plus(inner: Pattern) -> Pattern:
    return op("add", inner, any_("addend"), commutative=True)


def _operand(label: str) -> Pattern:
    """A matrix, or the transpose of one."""
    return optional(any_(label), lambda x: op("transpose", x))


_MATMUL = op("matmul", _operand("a"), _operand("b"))
_CONV = op("conv")

PATTERNS = (
    named("matmul_add", optional(_plus(_MATMUL), _relu), _refuse_addend),
    named("matmul_relu", _relu(_MATMUL)),
    named("conv_add", optional(_plus(_CONV), _relu), _refuse_addend),
    named("conv_relu", _relu(_CONV)),
    named(
        "matmul_transposed",
        op("matmul", op("transpose", any_("a")), _operand("b"))
        | op("matmul", any_("a"), op("transpose", any_("b"))),
    ),
)
"""Larger ones first: what none of them takes, a single op of `OPS` may still be."""
