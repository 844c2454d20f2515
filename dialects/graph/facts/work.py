"""How much an op computes, counted from shapes: multiply-adds, the elements that others make, their width."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import Operation

from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.op import CompositeOp, GraphOp, StructuredOp, shape_of, tensor_dtype
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.dialects.nest_spec import NestSpec


def multiply_adds_of(op: Operation) -> int:
    """Products that are summed: of products of matrices, convolutions, and what is made of them.

    Taps that lie in the padding count. Of a loop over the elements of a sequence those of all steps; of one
    that ends by its condition those of one step; of a branch those of the larger side.
    """
    match op:
        case ElementwiseOp() | ConstantOp() | CallOp():
            return 0
        case ConvTransposeOp():
            return sum(_of_nest(nest) for nest, _ in op.nests())
        case StructuredOp():
            return _of_nest(op.nest())
        case CompositeRegionOp():
            return sum(map(multiply_adds_of, op.body.block.ops))
        case CompositeOp():
            return sum(_of_parts(op, multiply_adds_of))
        case _:
            bodies = [sum(map(multiply_adds_of, region.block.ops)) for region in op.regions]
            return max(bodies, default=0) * (op.count if isinstance(op, ScanOp) else 1)


def points_of(op: Operation) -> int:
    """Elements that an op without multiply-adds makes or takes, whichever are more; of others 0."""
    if isinstance(op, CompositeRegionOp):
        return sum(map(points_of, op.body.block.ops))
    if not isinstance(op, GraphOp) or isinstance(op, ConstantOp) or multiply_adds_of(op):
        return 0
    return max((prod(shape_of(value)) for value in (*op.operands, *op.results)), default=0)


def element_bytes_of(op: Operation) -> int:
    """Of the widest elements that a host computes an op with: those that it is made of count, not its name.

    A quantize to i8 computes with f32; of constants nothing is computed.
    """
    match op:
        case ConstantOp():
            return 0
        case CompositeRegionOp():
            return max(map(element_bytes_of, op.body.block.ops), default=0)
        case CompositeOp():
            return max(_of_parts(op, element_bytes_of), default=0)
        case _:
            return max((tensor_dtype(value).nbytes for value in op.results), default=0)


def _of_nest(nest: NestSpec) -> int:
    is_sum = len(nest.reads) > 1 and any(each.reduction for each in nest.iterators)
    return prod(each.size for each in nest.iterators) if is_sum else 0


def _of_parts(op: CompositeOp, count: Callable[[Operation], int]) -> list[int]:
    """Of each op that it decomposes into; they are made for the count alone."""
    parts = op.decompose()
    found = [count(part) for part in parts]
    for part in reversed(parts):
        part.erase()
    return found
