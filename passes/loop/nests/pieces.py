"""A map that writes all of a buffer in pieces, one an output, and its one reader: the two become one map.

    y[2 i, j], y[2 i + 1, j] = a, b;  z[i, j] = relu(y[i, j] + r[i, j])
    -->  z[2 i, j], z[2 i + 1, j] = relu(a + r[2 i, j]), relu(b + r[2 i + 1, j])

So bias, residual and activation join the last transform of a convolution by Winograd's method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Region, SSAValue

from inarch.dialects.loop.access import WriteAttr
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.passes.loop.nests.edge import (
    MAX_BUFFERS,
    MAX_SCALAR_OPS,
    Edge,
    dimension_of_iterator,
    find_sole_uses,
    is_elementwise,
)
from inarch.passes.loop.nests.fusion import Joins, overwrites
from inarch.passes.loop.nests.lanes import contiguous_iterator
from inarch.passes.loop.nests.operands import (
    Move,
    Operands,
    end,
    fused_location,
    inline,
    new_block,
)


def find_pieces(buffer: SSAValue, consumer: NestOp) -> Edge | None:
    """The edge to `consumer`, which alone reads `buffer`, from a map all of whose outputs are pieces of it.

    Together they are every element. None where that is not so.
    """
    edge = find_sole_uses(buffer, consumer)
    return edge if edge is not None and _writes_all(edge.producer, buffer) else None


def _writes_all(nest: NestOp, buffer: SSAValue) -> bool:
    """Whether a map of several outputs writes each element of `buffer` once, and nothing else.

    No element is written twice, by one output (C4) or by two (C8), and all are in the buffer: counting them
    suffices.
    """
    if nest.carries or nest.finish is not None or len(nest.outs) < 2 or is_indirect(nest):
        return False
    if any(value is not buffer for value in nest.outs) or any(w.clips for w in nest.writes):
        return False
    if any(accumulator.first_use for accumulator in nest.accumulators(nest.body)):
        return False  # it goes on from what the buffer holds
    return len(nest.outs) * math.prod(nest.sizes) == math.prod(buffer_shape(buffer))


def append_to_pieces(edge: Edge, joins: Joins) -> NestOp | None:
    """The producer with the elementwise consumer at the end of each of its outputs, or None.

    Not where the producer can run in lanes, and both could not.
    """
    producer, consumer = edge.producer, edge.consumer
    if not is_elementwise(consumer) or is_indirect(consumer) or consumer.writes.data[0].clips:
        return None
    if any(read.is_padded for read in consumer.reads) or not _fits(edge):
        return None
    points = _points(edge)
    if points is None:
        return None
    operands = Operands(len(producer.iterators))
    own = [operands.keep(producer, position) for position in range(len(producer.ins))]
    others = [i for i in range(len(consumer.ins)) if i not in edge.reads]
    moved = [{i: operands.add_moved(consumer, i, point) for i in others} for point in points]
    if len({*operands.values, *consumer.outs}) > MAX_BUFFERS or overwrites(consumer, operands):
        return None
    fused = _with_consumer(edge, operands, own, moved, points)
    is_slower = contiguous_iterator(producer) is not None and contiguous_iterator(fused) is None
    if is_slower or not joins(edge):
        fused.erase()  # it has never been in a block, and would count as a user of its operands
        return None
    return fused


def _fits(edge: Edge) -> bool:
    """Whether the fused nest is not too large: that of few operations, or at most twice the producer."""
    before, more = (len(nest.body.block.ops) - 1 for nest in (edge.producer, edge.consumer))
    total = before + more * len(edge.producer.outs)
    return total <= max(MAX_SCALAR_OPS, 2 * before)


def _points(edge: Edge) -> list[list[Linear]] | None:
    """For each output, each iterator of the consumer over those of the producer.

    None where not all its reads of the buffer are at one index, or its points are not the elements.
    """
    producer, consumer = edge.producer, edge.consumer
    reads = {linear_map(consumer.read_map(i)) for i in edge.reads}
    if len(reads) != 1:
        return None
    (read,) = reads
    dimension = dimension_of_iterator(consumer, read, buffer_shape(edge.buffer))
    if dimension is None:
        return None
    zero = Linear((0,) * len(producer.iterators), 0)
    written = [linear_map(producer.write_map(at)) for at in range(len(producer.outs))]
    return [[zero if axis is None else index[axis] for axis in dimension] for index in written]


def _with_consumer(
    edge: Edge,
    operands: Operands,
    own: Sequence[int],
    moved: Sequence[dict[int, int]],
    points: Sequence[Sequence[Linear]],
) -> NestOp:
    """`own` are where the producer's operands are in `operands`, `moved` the consumer's at each output."""
    producer, consumer = edge.producer, edge.consumer
    count = len(producer.iterators)
    outs = [consumer.outs[0]] * len(points)
    block = new_block(operands, outs, producer.body.block)
    accumulators = block.args[len(operands.values) :]
    elements = [block.args[position] for position in own]
    # Neither body uses its accumulators: any value will do.
    made = inline(producer.body.block, [*elements, *accumulators], block)
    results: list[SSAValue] = []
    writes: list[WriteAttr] = []
    for value, accumulator, places, point in zip(made, accumulators, moved, points, strict=True):
        values = [block.args[places[i]] if i in places else value for i in range(len(consumer.ins))]
        move = Move(consumer, producer, point)
        results += inline(consumer.body.block, [*values, accumulator], block, move)
        index = [form.substitute(point, count) for form in linear_map(consumer.write_map(0))]
        writes.append(WriteAttr.get(affine_map(index, count)))
    fused = NestOp(
        producer.iterators.data,
        operands.values,
        operands.reads,
        outs,
        writes,
        Region(end(block, results)),
    )
    fused.attributes |= producer.attributes
    fused.location = fused_location(producer, consumer)
    return fused
