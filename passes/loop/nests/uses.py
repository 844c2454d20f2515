"""Where buffers are used, and where written: a read must not move past a write."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp, root
from inarch.dialects.loop.footprint import Touching
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.report.walk import ops_within

_READERS = (AllocOp, ConstantOp, ReshapeOp, memref.SubviewOp, memref.LoadOp)
"""Ops that write to none of their operands."""


@dataclass(frozen=True)
class BufferUses:
    """An analysis of a function of one block: which of its ops use which buffers, each as its `root`.

    An op's place is its position in the block; what is nested in it is at that place, too.
    """

    places: Mapping[Operation, int]
    used: Mapping[SSAValue, Sequence[int]]
    """Buffer -> the places of the ops with it as an operand, in order, each once."""
    written: Mapping[SSAValue, Sequence[int]]
    """Buffer -> the places of the ops that may write to it, in order."""

    @classmethod
    def of(cls, op: Operation) -> BufferUses:
        """The uses in `op`'s one block."""
        return cls.of_block(op.regions[0].block)

    @classmethod
    def of_block(cls, block: Block) -> BufferUses:
        """The uses in a block."""
        places: dict[Operation, int] = {}
        used: defaultdict[SSAValue, list[int]] = defaultdict(list)
        written: defaultdict[SSAValue, list[int]] = defaultdict(list)
        for place, op in enumerate(block.ops):
            places[op] = place
            own, changed = _roots(op)
            for buffer in own:
                used[buffer].append(place)
            for buffer in changed:
                written[buffer].append(place)
        return cls(places, dict(used), dict(written))

    def may_move(self, nest: NestOp, first: int, last: int) -> bool:
        """Whether a nest may move down from place `first` to `last`: what it reads is not written between."""
        read = {root(value) for value in nest.ins}
        return first < last and not any(self.is_written_within(b, first, last) for b in read)

    def is_written_within(self, buffer: SSAValue, first: int, last: int) -> bool:
        """Whether an op between two places may write to a buffer, a `root`."""
        places = self.written.get(buffer, ())
        after = bisect_right(places, first)
        return after < len(places) and places[after] < last


def written_roots(op: Operation) -> set[SSAValue]:
    """The buffers that `op`, or an op in it, may write to: of a nest its outputs, else all that it uses."""
    return _roots(op)[1]


def _roots(op: Operation) -> tuple[dict[SSAValue, None], set[SSAValue]]:
    """The buffers that `op`, or an op in it, uses, and those of them that it may write to."""
    used: dict[SSAValue, None] = {}
    written: set[SSAValue] = set()
    for inner in ops_within(op):
        own = [root(value) for value in inner.operands if isinstance(value.type, MemRefType)]
        used.update(dict.fromkeys(own))
        if isinstance(inner, NestOp):
            written.update(own[len(inner.reads) :])  # all of its operands are buffers
        elif own and not isinstance(inner, _READERS):
            written.update(own)
    return used, written


def written_buffers(op: Operation, symbols: Mapping[str, Operation]) -> Sequence[SSAValue]:
    """The buffers that `op` itself, not ops in it, may write; of an unknown op, all of its operands."""
    if isinstance(op, memref.StoreOp):
        return [op.memref]
    if isinstance(op, (*_READERS, WhileOp)):
        return []
    if isinstance(op, Touching):
        return [touch.value for touch in op.touches(symbols) if touch.writes]
    return [value for value in op.operands if isinstance(value.type, MemRefType)]
