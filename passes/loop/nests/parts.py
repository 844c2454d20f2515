"""Nests that write a buffer in parts, as the phases of a transposed convolution do, and its one reader."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from xdsl.ir import SSAValue

from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.indirect import scatters
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.overlap import writes_of
from inarch.passes.loop.nests.edge import Edge

MAX_PARTS = 64
"""Of one buffer: each is compared with each."""


def find_parts(buffer: SSAValue, consumer: NestOp) -> list[Edge]:
    """The edges to `consumer`, which alone reads `buffer`, from several nests that write a part of it each.

    Together they write every element, and no two of them the same one. None where that is not so.
    """
    if not isinstance(buffer.owner, AllocOp):
        return []
    producers: dict[NestOp, None] = {}
    for use in buffer.uses:
        user = use.operation
        if user is consumer and use.index < len(consumer.ins):
            continue
        if not isinstance(user, NestOp) or use.index < len(user.ins) or user is consumer:
            return []
        producers[user] = None
        if len(producers) > MAX_PARTS:
            return []
    if len(producers) < 2 or any(map(is_kept, (consumer, *producers))):
        return []
    is_whole = _are_all(list(producers), math.prod(buffer_shape(buffer)))
    return [Edge(producer, buffer, consumer) for producer in producers] if is_whole else []


def _are_all(nests: Sequence[NestOp], elements: int) -> bool:
    """Whether the nests, whose one output is a buffer of so many elements, write each of them once.

    Elements of different nests differ, those of one do (C4), and all are in the buffer: so it is a count.
    """
    if any(len(nest.outs) != 1 or nest.writes.data[0].clips or scatters(nest) for nest in nests):
        return False
    if sum(map(_points, nests)) != elements:
        return False
    writes = [writes_of(nest)[0] for nest in nests]
    return not any(a.meets(b) for a, b in combinations(writes, 2))


def _points(nest: NestOp) -> int:
    """How many elements it writes."""
    pairs = zip(nest.sizes, nest.iterators, strict=True)
    return math.prod(size for size, iterator in pairs if not iterator.is_reduction)
