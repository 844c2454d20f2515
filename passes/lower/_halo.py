"""The halo of a new buffer is filled with 0: producers write the interior, windows read it all."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.ir import Block, Region, SSAValue

from inarch.dialects.loop.access import IteratorAttr, WriteAttr, typed
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.ir.index.linear import Linear, affine_map
from inarch.passes.lower.physical import TensorPlace

_Box = list[tuple[int, int]]
"""The first index, and the one after the last, of each dimension."""


def border_nests(buffer: SSAValue, place: TensorPlace) -> Iterator[NestOp]:
    """Nests that write 0 to each element of the halo once."""
    for box in _borders(place):
        yield _zeros(buffer, box)


def _borders(place: TensorPlace) -> Iterator[_Box]:
    """Disjoint boxes: before and behind each dimension, inside those before it."""
    shape = place.physical_shape
    inside: _Box = []
    for axis, (begin, end) in enumerate(place.margins):
        for first, last in ((0, begin), (shape[axis] - end, shape[axis])):
            if first < last:
                yield [*inside, (first, last), *((0, size) for size in shape[axis + 1 :])]
        inside.append((begin, shape[axis] - end))


def _zeros(buffer: SSAValue, box: _Box) -> NestOp:
    element, rank = memref_of(buffer).element_type, len(box)
    block = Block(arg_types=[element])
    zero = arith.ConstantOp(typed(0, element))  # pyright: ignore[reportArgumentType] - a typed number
    block.add_ops([zero, YieldOp(zero.result)])
    points = [
        Linear(Linear.iterator(axis, rank).coefficients, first)
        for axis, (first, _) in enumerate(box)
    ]
    return NestOp(
        [IteratorAttr.get(f"i{axis}", last - first) for axis, (first, last) in enumerate(box)],
        [],
        [],
        [buffer],
        [WriteAttr.get(affine_map(points, rank))],
        Region(block),
    )
