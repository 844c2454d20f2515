"""Pairs of nests that could become one: who makes a buffer, and who alone reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from xdsl.ir import Region, SSAValue

from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.indirect import scatters
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, linear_map

MAX_BUFFERS = 16
"""Of one nest: each is a pointer and its strides in registers."""
MAX_SCALAR_OPS = 128
"""Of one nest: bounds the compile time of a chain, and the values alive at once."""


@dataclass(frozen=True)
class Edge:
    """A buffer that one nest writes, completely, and only one other nest reads."""

    producer: NestOp
    buffer: SSAValue
    consumer: NestOp

    @property
    def reads(self) -> list[int]:
        """The positions in the consumer's `ins` where it reads the buffer."""
        return [i for i, value in enumerate(self.consumer.ins) if value is self.buffer]


def find_edge(buffer: SSAValue, consumer: NestOp) -> Edge | None:
    """The edge through `buffer` to `consumer`, or None: another user, a view, an argument, a mark ..."""
    edge = find_sole_uses(buffer, consumer)
    return edge if edge is not None and written_dimensions(edge.producer) is not None else None


def find_sole_uses(buffer: SSAValue, consumer: NestOp) -> Edge | None:
    """The edge to `consumer`, the one reader, from the one nest that writes `buffer`, in any way."""
    if not isinstance(buffer.owner, AllocOp):
        return None
    producer: NestOp | None = None
    for use in buffer.uses:
        user = use.operation
        if user is consumer and use.index < len(consumer.ins):
            continue
        if (
            not isinstance(user, NestOp)
            or use.index < len(user.ins)
            or producer not in (None, user)
        ):
            return None
        producer = user
    if producer is None or producer is consumer or is_kept(producer) or is_kept(consumer):
        return None
    return Edge(producer, buffer, consumer)


def edges_from(producer: NestOp) -> list[Edge]:
    """The edges to all readers of what a nest writes; none where `find_edge` would refuse one."""
    # Before the uses are looked at: many may write a part of what many read.
    if written_dimensions(producer) is None:
        return []
    buffer = producer.outs[0]
    if not isinstance(buffer.owner, AllocOp):  # others read a result
        return []
    readers: dict[NestOp, None] = {}
    for use in buffer.uses:
        user = use.operation
        if user is producer and use.index >= len(producer.ins):
            continue
        if not isinstance(user, NestOp) or user is producer or use.index >= len(user.ins):
            return []
        readers[user] = None
    if any(map(is_kept, (producer, *readers))):
        return []
    return [Edge(producer, buffer, reader) for reader in readers]


def written_dimensions(producer: NestOp) -> list[int | None] | None:
    """For each iterator of a nest with one output, the dimension of the output that it is.

    None for a dimension: the iterator is always 0, or reduces. None in all: not every element is
    written, or not at an index that is one iterator a dimension.
    """
    if len(producer.outs) != 1 or producer.writes.data[0].clips or scatters(producer):
        return None
    return dimension_of_iterator(
        producer, linear_map(producer.write_map(0)), buffer_shape(producer.outs[0])
    )


def dimension_of_iterator(
    nest: NestOp, index: Sequence[Linear], shape: Sequence[int]
) -> list[int | None] | None:
    """For each iterator the dimension that it runs over, if `index` visits each element once."""
    dimension: list[int | None] = [None] * len(nest.iterators)
    for axis, (result, size) in enumerate(zip(index, shape, strict=True)):
        iterator = result.lone_iterator
        if iterator is None:
            if size != 1 or not result.is_constant:
                return None
            continue
        if nest.sizes[iterator] != size or dimension[iterator] is not None:
            return None
        dimension[iterator] = axis
    for position, iterator in enumerate(nest.iterators):
        is_free = dimension[position] is None and not iterator.is_reduction
        if is_free and iterator.size.data != 1:
            return None
    return dimension


def is_elementwise(nest: NestOp) -> bool:
    """One output, computed from the operands of its point alone."""
    if nest.carries or nest.finish is not None or len(nest.outs) != 1 or scatters(nest):
        return False
    return not nest.accumulators(nest.body)[0].uses


def fits(edge: Edge) -> bool:
    """Whether the fused nest is not too large."""
    nests = (edge.producer, edge.consumer)
    ops = chain.from_iterable(region.block.ops for nest in nests for region, _ in regions(nest))
    return next(islice(ops, MAX_SCALAR_OPS, None), None) is None


def regions(nest: NestOp) -> list[tuple[Region, int]]:
    """The regions of a nest, and at how many points each runs."""
    found = [(nest.body, math.prod(nest.sizes))]
    if nest.finish is not None:
        parallel = [i.size.data for i in nest.iterators if not i.is_reduction]
        found.append((nest.finish, math.prod(parallel)))
    return found
