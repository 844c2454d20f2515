"""The position of the largest or smallest element: one nest over the data, with a value and a position.

    for i: v, p = lowest, 0; for k: v, p = takes(x[i, k], k, v, p) ? (x[i, k], k) : (v, p)

The values go to memory of their own, which nothing reads.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.core.dtypes import DTYPES
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.reduce import ArgMaxOp, ArgMinOp, ArgReduceOp
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, typed
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.dialects.loop.scalar import PointOp
from inarch.dialects.scalar import Scalar
from inarch.ir.index.linear import Linear
from inarch.ir.types import i64
from inarch.passes.loop.nests.arg_reduce import Order
from inarch.passes.lower.builder import LoopBuilder


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ArgReduceOp)
    shape, along, dtype = shape_of(op.x), op.along(), tensor_dtype(op.x)
    x, positions = builder.buffers[op.x], builder.result(op.out)
    element = memref_of(x).element_type
    values = builder.alloc(element, shape_of(op.out))
    name = f"r{along}"
    others = [axis for axis in range(len(shape)) if axis != along]
    place = {axis: AffineExpr.dimension(at) for at, axis in enumerate([*others, along])}
    iterators = [IteratorAttr.get(f"i{axis}", shape[axis]) for axis in others]
    iterators.append(IteratorAttr.get(name, shape[along], "reduction"))
    read = [place[axis] for axis in range(len(shape))]
    write = [place[axis] for axis in others]
    if op.keeps_axis():
        write.insert(along, AffineExpr.constant(0))
    order = Order(dtype, largest=isinstance(op, ArgMaxOp), last=op.takes_last())
    start = dtype.least if order.largest else dtype.greatest
    index = AffineMap(len(shape), 0, tuple(write))
    nest = NestOp(
        iterators,
        [x],
        [ReadAttr.get(AffineMap(len(shape), 0, tuple(read)))],
        [values, positions],
        [WriteAttr.get(index, typed(start, element)), WriteAttr.get(index, typed(0, i64))],
        _body(order, element, name),
    )
    builder.add(nest)


def _body(order: Order, element: Attribute, name: str) -> Region:
    """Takes an element or leaves it; its place is what the iterator `name` counts."""
    block = Block(arg_types=[element, element, i64])
    for argument, hint in zip(block.args, ("x", "value", "position"), strict=True):
        argument.name_hint = hint
    point = PointOp([name], Linear((1,), 0))
    cast = arith.IndexCastOp(point.out, i64)
    block.add_ops([point, cast])
    x, value = (Scalar(block.args[at], order.dtype, block) for at in (0, 1))
    place, position = (Scalar(each, DTYPES["i64"], block) for each in (cast.result, block.args[2]))
    takes = order.takes(x, place, value, position)
    block.add_op(YieldOp(takes.select(x, value).value, takes.select(place, position).value))
    return Region(block)


LOWERING = {ArgMaxOp: _lower, ArgMinOp: _lower}
