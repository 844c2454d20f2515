"""How much an op computes, counted from shapes: multiply-adds, and the elements that others make."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.op import CompositeOp, GraphOp, StructuredOp, shape_of
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
            return _of_parts(op)
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


def _of_nest(nest: NestSpec) -> int:
    is_sum = len(nest.reads) > 1 and any(each.reduction for each in nest.iterators)
    return prod(each.size for each in nest.iterators) if is_sum else 0


def _of_parts(op: CompositeOp) -> int:
    """Of what the op decomposes into; that is made for the count alone."""
    parts = op.decompose()
    total = sum(map(multiply_adds_of, parts))
    for part in reversed(parts):
        part.erase()
    return total
