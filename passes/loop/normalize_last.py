"""What a softmax divides its weights by, the product with them divides its result by.

    W = exp(S - max(S))    (1024 x 1024)           W = exp(S - max(S))
    P = W / sum(W)         (1024 x 1024)   -->     Y = (W V) / sum(W)    (1024 x 64)
    Y = P V                (1024 x 64)

A row of attention has fewer results than weights, and one buffer of all weights is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.functions import entry_blocks
from inarch.ir.index.linear import Linear, linear_map
from inarch.ir.passes import OptionalPass
from inarch.ir.report.analyses import analyses_of
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.edge import (
    MAX_BUFFERS,
    Edge,
    find_edge,
    fits,
    is_elementwise,
    written_dimensions,
)
from inarch.passes.loop.nests.operands import Operands, end, fused_location, inline, new_block
from inarch.passes.loop.nests.uses import BufferUses
from inarch.passes.loop.tiling.softmax import maximum_of, writer_of


@dataclass(frozen=True)
class NormalizeLastPass(OptionalPass):
    """Moves the factor or divisor of each row of a softmax's weights behind the product that reads them.

    Only of weights `exp(x - m)`, m a maximum: the sums that are not divided yet are as large as the other
    factor's then, not larger. The factor must be the same along the sum, and the product have no more
    results than there are weights.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function, block in entry_blocks(op):
            _normalize(block, analyses_of(ctx).get(BufferUses, function), remarks_of(ctx))


def _normalize(block: Block, uses: BufferUses, remarks: Remarks) -> None:
    for nest in [op for op in block.ops if isinstance(op, NestOp)]:
        contraction = match_contraction(nest)
        if contraction is None:
            continue
        for position in (contraction.a, contraction.b):
            edge = find_edge(nest.ins[position], nest)
            if edge is None or not _may_move(edge, uses):
                continue
            fused = _with_factor(edge)
            if fused is None:
                continue
            remarks.done(nest, "normalizes its result, not the weights that it reads")
            insert_before(nest, fused)
            alloc = edge.buffer.owner
            assert isinstance(alloc, Operation), "find_edge has seen to it"
            erase(nest, edge.producer, alloc)
            break


def _may_move(edge: Edge, uses: BufferUses) -> bool:
    places = uses.places
    return edge.producer in places and uses.may_move(
        edge.producer, places[edge.producer], places[edge.consumer]
    )


def _with_factor(edge: Edge) -> NestOp | None:
    """The product of the weights as they are, whose result is normalized; None where that is not one."""
    producer, consumer = edge.producer, edge.consumer
    roles = _weights_and_factor(producer)
    if roles is None or len(edge.reads) != 1 or not fits(edge):
        return None
    weights, factor = roles
    if not _are_weights(producer, weights):
        return None
    (position,) = edge.reads
    read = consumer.reads.data[position]
    if read.is_padded or _results(consumer) > math.prod(producer.sizes):
        return None
    dimension = written_dimensions(producer)
    assert dimension is not None, "find_edge has seen to it"
    zero = Linear((0,) * len(consumer.iterators), 0)
    index = linear_map(read.map.data)
    point = [zero if axis is None else index[axis] for axis in dimension]
    operands = Operands(len(consumer.iterators))
    places: list[int] = []
    for at in range(len(consumer.ins)):
        if at == position:
            places.append(operands.add_moved(producer, weights, point))
        else:
            places.append(operands.keep(consumer, at))
    by = operands.add_moved(producer, factor, point)
    used = operands.reads[by].map.data.used_dims()
    if any(consumer.iterators.data[at].is_reduction for at in used):
        return None
    if len(operands.values) + 1 > MAX_BUFFERS:
        return None
    return _product(edge, operands, places, by)


def _weights_and_factor(nest: NestOp) -> tuple[int, int] | None:
    """Which operands an elementwise nest multiplies or divides: what is normalized, and what by."""
    if not is_elementwise(nest) or is_indirect(nest) or any(r.is_padded for r in nest.reads):
        return None
    (value,) = nest.yielded(nest.body)
    op = value.owner
    if not isinstance(op, arith.MulfOp | arith.DivfOp) or len(list(nest.body.block.ops)) != 2:
        return None
    sides = (op.lhs, op.rhs)
    if not all(isinstance(side, BlockArgument) for side in sides) or op.lhs is op.rhs:
        return None
    left, right = (side.index for side in sides if isinstance(side, BlockArgument))
    if isinstance(op, arith.MulfOp) and not _are_weights(nest, left):
        return right, left
    return left, right


def _are_weights(nest: NestOp, position: int) -> bool:
    writer = writer_of(nest.ins[position])
    return writer is not None and maximum_of(writer) is not None


def _results(nest: NestOp) -> int:
    return math.prod(i.size.data for i in nest.iterators if not i.is_reduction)


def _product(edge: Edge, operands: Operands, places: list[int], by: int) -> NestOp:
    """`places[i]` is where the product's operand i is; `by`, what its result is normalized by."""
    consumer = edge.consumer

    def arguments(block: Block, accumulator: SSAValue) -> list[SSAValue]:
        return [*(block.args[at] for at in places), accumulator]

    body = new_block(operands, consumer.outs, consumer.body.block)
    end(body, inline(consumer.body.block, arguments(body, body.args[-1]), body))
    finish = new_block(operands, consumer.outs, consumer.body.block)
    (scaled,) = edge.producer.yielded(edge.producer.body)
    kind = arith.MulfOp if isinstance(scaled.owner, arith.MulfOp) else arith.DivfOp
    op = kind(finish.args[-1], finish.args[by])
    finish.add_op(op)
    values: list[SSAValue] = [op.result]
    if consumer.finish is not None:
        values = inline(consumer.finish.block, arguments(finish, op.result), finish)
    fused = NestOp(
        consumer.iterators.data,
        operands.values,
        operands.reads,
        consumer.outs,
        consumer.writes.data,
        Region(body),
        Region(end(finish, values)),
    )
    fused.attributes |= consumer.attributes
    fused.location = fused_location(edge.producer, consumer)
    return fused
