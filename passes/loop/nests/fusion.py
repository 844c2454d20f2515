"""The nest that a producer and its consumer become, in either of two ways, or None."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, i32
from xdsl.ir import Block, Region, SSAValue

from inarch.dialects.loop.access import WriteAttr, number_of
from inarch.dialects.loop.buffer import root
from inarch.dialects.loop.indirect import index_operands, is_indirect, scatters
from inarch.dialects.loop.memory import buffer_shape, memref_of, strides_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.rounding import round_product
from inarch.dialects.loop.scalar import points_of
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.types import i64
from inarch.passes.loop.nests.edge import (
    MAX_BUFFERS,
    Edge,
    dimension_of_iterator,
    fits,
    is_elementwise,
    regions,
    written_dimensions,
)
from inarch.passes.loop.nests.operands import (
    Move,
    Operands,
    end,
    fused_location,
    grown_block,
    inline,
    new_block,
)
from inarch.passes.loop.nests.transform import read_strides

Joins = Callable[[Edge], bool]
"""Whether two nests are to become one, where they can: then both are given up, and their ops are taken."""


def inline_producer(
    edge: Edge, joins: Joins | None = None, *, again: bool = False
) -> NestOp | None:
    """The consumer with the elementwise producer computed where its buffer is read, or None.

    The producer must not be computed at more points than it has now; but for integers that it only widens to
    those that the consumer sums up: the narrow ones are quicker to read, and microkernels multiply them; or
    `again`, where it computes nothing. What is read as an index must be a copy. Of what reads indices, only
    rows are computed in another nest, and that must be elementwise.
    """
    producer, consumer = edge.producer, edge.consumer
    if not is_elementwise(producer) or _buffers(edge) > MAX_BUFFERS or not fits(edge):
        return None
    # Its points run one by one: what they write is computed in vectors before.
    if scatters(consumer):
        return None
    more = _evaluations(edge) > math.prod(producer.sizes)
    if more and not again and not _widens(producer, consumer):
        return None
    if is_indirect(producer) and (consumer.carries or not _reads_rows(producer)):
        return None  # kernels take sums of what lies in order, and vectors what lies side by side
    picking = index_operands(consumer.reads.data).intersection(edge.reads)
    if picking and not _is_same_number(producer):
        return None  # an index is an element, not what is computed of some
    dimension = written_dimensions(producer)
    assert dimension is not None, "find_edge has seen to it"
    points: dict[int, list[Linear]] = {}
    for position in edge.reads:
        read = consumer.reads.data[position]
        if read.is_padded or read.is_indirect:
            return None
        index = linear_map(read.map.data)
        zero = Linear((0,) * len(consumer.iterators), 0)
        points[position] = [zero if axis is None else index[axis] for axis in dimension]
    operands = Operands(len(consumer.iterators))
    indices = {
        position: operands.add_moved(producer, 0, points[position]) for position in sorted(picking)
    }
    kept = {
        position: operands.keep(consumer, position, indices)
        for position in range(len(consumer.ins))
        if position not in points
    }
    computed = {
        at: _Computed(tuple(operands.add_all(producer, point)), tuple(point))
        for at, point in points.items()
    }
    if len(operands.values) + len(consumer.outs) > MAX_BUFFERS:
        return None
    if overwrites(consumer, operands) or (joins is not None and not joins(edge)):
        return None
    return _with_producer(edge, operands, kept, computed, takes=joins is not None)


def _buffers(edge: Edge) -> int:
    """How many buffers a nest of both has at least: a full producer is not looked into for each consumer."""
    values = {*edge.producer.ins, *edge.consumer.ins, *edge.consumer.outs}
    return len(values - {edge.buffer})


def overwrites(consumer: NestOp, operands: Operands) -> bool:
    """Whether the consumer writes to a buffer that the fused nest reads, maybe at other points."""
    read = {root(value) for value in operands.values}
    return any(root(out) in read for out in consumer.outs)


def _widens(nest: NestOp, reader: NestOp) -> bool:
    """Whether an elementwise nest only extends integers, to those that its reader sums up."""
    ops = list(nest.body.block.ops)
    (value,) = nest.yielded(nest.body)
    is_whole = all(value.type == memref_of(out).element_type for out in reader.outs)
    return len(ops) == 2 and isinstance(value.owner, arith.ExtSIOp | arith.ExtUIOp) and is_whole


def _leaves_integers(nest: NestOp) -> bool:
    """Whether an elementwise nest computes an integer by way of floats, as a requantization does."""
    results = [value.type for op in nest.body.block.ops for value in op.results]
    is_integer = isinstance(memref_of(nest.outs[0]).element_type, IntegerType)
    return is_integer and not all(isinstance(kind, IntegerType | IndexType) for kind in results)


def _reads_rows(nest: NestOp) -> bool:
    """Whether neighbours of what an elementwise nest writes are of one row of what it reads."""
    along = _contiguous(nest, nest.outs[0], linear_map(nest.write_map(0)))
    return along is None or all(
        read_strides(nest, position)[along] is not None for position in range(len(nest.ins))
    )


def _is_same_number(nest: NestOp) -> bool:
    """Whether an elementwise nest copies its one operand, as it is or extended with its sign: an index."""
    (value,) = nest.yielded(nest.body)
    if isinstance(value.owner, arith.ExtSIOp):
        value = value.owner.input
    is_read = len(nest.ins) == 1 and value is nest.body.block.args[0]
    return is_read and not nest.reads.data[0].is_padded and value.type in (i32, i64)


@dataclass(frozen=True)
class _Computed:
    """How an operand of the consumer is computed: from which operands, and at which point of the producer."""

    operands: tuple[int, ...]
    point: tuple[Linear, ...]


def _with_producer(
    edge: Edge,
    operands: Operands,
    kept: dict[int, int],
    computed: dict[int, _Computed],
    *,
    takes: bool,
) -> NestOp:
    """`computed[i]` says how the consumer's operand `i` is.

    `kept[i]` is the position of an operand that the producer does not write. `takes`: of both nests nothing
    is needed any more.
    """
    producer, consumer = edge.producer, edge.consumer
    knows_points = bool(points_of(producer.body.block))
    made: list[SSAValue] = []
    needed = {
        id(region): _needed(edge, region, computed, knows_points) for region, _ in regions(consumer)
    }
    is_taken = takes and sum(map(len, needed.values())) == 1

    def merged(region: Region) -> Region:
        values: list[SSAValue] = []
        shared: dict[_Computed, SSAValue] = {}
        if is_taken and needed[id(region)]:
            (key,) = needed[id(region)]
            move = Move(producer, consumer, key.point) if knows_points else None
            block, (shared[key],) = grown_block(
                producer.body, key.operands, operands, consumer.outs, region.block, move
            )
        else:
            block = new_block(operands, consumer.outs, region.block)
        for position, argument in enumerate(consumer.element_arguments(region)):
            if position in kept:
                values.append(block.args[kept[position]])
                continue
            if not argument.uses:
                values.append(block.args[0])  # stands for a value that nothing uses
                continue
            key = _key(computed[position], knows_points=knows_points)
            if key not in shared:
                elements = [block.args[i] for i in key.operands]
                move = Move(producer, consumer, key.point) if knows_points else None
                # An elementwise body does not use its accumulator: any value will do.
                arguments = [*elements, block.args[-1]]
                (shared[key],) = inline(producer.body.block, arguments, block, move)
            values.append(shared[key])
        values += block.args[len(operands.values) :]
        made.extend(shared.values())
        return Region(end(block, inline(region.block, values, block, takes=takes)))

    fused = NestOp(
        consumer.iterators.data,
        operands.values,
        operands.reads,
        consumer.outs,
        consumer.writes.data,
        merged(consumer.body),
        merged(consumer.finish) if consumer.finish is not None else None,
    )
    for value in made:
        round_product(value)
    fused.attributes |= consumer.attributes
    fused.location = fused_location(producer, consumer)
    return fused


def _key(computed: _Computed, *, knows_points: bool) -> _Computed:
    """Equal where the same is computed: equal operands are all that it is made of, if not the point."""
    return computed if knows_points else _Computed(computed.operands, ())


def _needed(
    edge: Edge, region: Region, computed: Mapping[int, _Computed], knows_points: bool
) -> list[_Computed]:
    """What a region of the consumer needs of the producer, each once."""
    return list(
        dict.fromkeys(
            _key(computed[position], knows_points=knows_points)
            for position, argument in enumerate(edge.consumer.element_arguments(region))
            if position in computed and argument.uses
        )
    )


def _evaluations(edge: Edge) -> int:
    """How often the consumer would compute an element of the producer."""
    consumer = edge.consumer
    total = 0
    for region, points in regions(consumer):
        arguments = consumer.element_arguments(region)
        used = {consumer.reads.data[i] for i in edge.reads if arguments[i].uses}
        total += len(used) * points
    return total


def append_to_finish(edge: Edge, joins: Joins | None = None) -> NestOp | None:
    """The producer with the elementwise consumer at the end of its `finish`, or None."""
    producer, consumer = edge.producer, edge.consumer
    if not is_elementwise(consumer) or consumer.writes.data[0].clips or not fits(edge):
        return None
    if is_indirect(consumer):
        return None  # kernels take sums of what lies in order
    if number_of(producer.writes.data[0].init) is None:  # it goes on from what the buffer holds
        return None
    out = consumer.outs[0]
    if memref_of(out).element_type != memref_of(edge.buffer).element_type:
        return None  # an accumulator has the type of the output
    if producer.carries and _leaves_integers(consumer):
        return None  # it is no sum any more: who reads the result computes it, and whole numbers are stored
    point = _consumer_point(edge)
    if point is None or _iterations(edge, point):
        return None
    operands = Operands(len(producer.iterators))
    own = [operands.keep(producer, position) for position in range(len(producer.ins))]
    kept = [i for i in range(len(consumer.ins)) if i not in edge.reads]
    positions = {i: operands.add_moved(consumer, i, point) for i in kept}
    if len(operands.values) + 1 > MAX_BUFFERS or overwrites(consumer, operands):
        return None
    if joins is not None and not joins(edge):
        return None
    return _with_consumer(edge, operands, own, positions, point, takes=joins is not None)


def _iterations(edge: Edge, point: Sequence[Linear]) -> bool:
    """Whether it would come to write across the vectors in which it is computed: a copy does that better."""
    producer, consumer = edge.producer, edge.consumer
    count = len(producer.iterators)
    moved = [form.substitute(point, count) for form in linear_map(consumer.write_map(0))]
    before = _contiguous(producer, edge.buffer, linear_map(producer.write_map(0)))
    after = _contiguous(producer, consumer.outs[0], moved)
    return producer.carries and before is not None and before != after


def _contiguous(nest: NestOp, buffer: SSAValue, index: Sequence[Linear]) -> int | None:
    """The iterator of more than one point along which `buffer[index]` moves by one element."""
    strides = strides_of(memref_of(buffer))
    for position, size in enumerate(nest.sizes):
        pairs = zip(strides, index, strict=True)
        if size > 1 and abs(sum(s * form.coefficients[position] for s, form in pairs)) == 1:
            return position
    return None


def _with_consumer(
    edge: Edge,
    operands: Operands,
    own: Sequence[int],
    positions: dict[int, int],
    point: Sequence[Linear],
    *,
    takes: bool,
) -> NestOp:
    """`own` are where the producer's operands are in `operands`, `positions` where the consumer's others."""
    producer, consumer = edge.producer, edge.consumer

    def moved(region: Region, block: Block) -> list[SSAValue]:
        elements = [block.args[position] for position in own]
        return inline(region.block, [*elements, block.args[-1]], block, takes=takes)

    body = new_block(operands, consumer.outs, producer.body.block)
    end(body, moved(producer.body, body))
    finish = new_block(operands, consumer.outs, producer.body.block)
    result = finish.args[-1]
    if producer.finish is not None:
        (result,) = moved(producer.finish, finish)
    values = [
        finish.args[positions[i]] if i in positions else result for i in range(len(consumer.ins))
    ]
    move = Move(consumer, producer, point)
    last = [*values, finish.args[-1]]
    end(finish, inline(consumer.body.block, last, finish, move, takes=takes))
    count = len(producer.iterators)
    index = [result.substitute(point, count) for result in linear_map(consumer.write_map(0))]
    fused = NestOp(
        producer.iterators.data,
        operands.values,
        operands.reads,
        consumer.outs,
        [WriteAttr.get(affine_map(index, count), producer.writes.data[0].init)],
        Region(body),
        Region(finish),
    )
    fused.attributes |= producer.attributes
    fused.location = fused_location(producer, consumer)
    return fused


def _consumer_point(edge: Edge) -> list[Linear] | None:
    """Each iterator of the consumer over those of the producer, if its points are the elements.

    All its reads of the buffer must be at one index.
    """
    producer, consumer = edge.producer, edge.consumer
    reads = {consumer.reads.data[i] for i in edge.reads}
    if len(reads) != 1:
        return None
    (read,) = reads
    if read.is_padded:
        return None
    shape = buffer_shape(edge.buffer)
    dimension = dimension_of_iterator(consumer, linear_map(read.map.data), shape)
    if dimension is None:
        return None
    written = linear_map(producer.write_map(0))
    zero = Linear((0,) * len(producer.iterators), 0)
    return [zero if axis is None else written[axis] for axis in dimension]
