"""Where buffers are written: values may be updated in place, so a read must not move past a write."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp, root
from inarch.dialects.loop.nest import NestOp

_READERS = (AllocOp, ConstantOp, ReshapeOp, memref.SubviewOp, memref.LoadOp)
"""Ops that write to none of their operands."""

Writes = Mapping[SSAValue, Sequence[int]]
"""Buffer, as its `root` -> the places of the ops that may write to it, in order."""


def written_roots(op: Operation) -> set[SSAValue]:
    """The buffers that `op`, or an op in it, may write to: of a nest its outputs, else all that it uses."""
    found: set[SSAValue] = set()
    for inner in op.walk():
        if isinstance(inner, NestOp):
            found.update(root(out) for out in inner.outs)
        elif not isinstance(inner, _READERS):
            found.update(root(v) for v in inner.operands if isinstance(v.type, MemRefType))
    return found


def writes_by_root(ops: Iterable[tuple[Operation, int]]) -> Writes:
    """The writes of ops in order, each with its place."""
    found: defaultdict[SSAValue, list[int]] = defaultdict(list)
    for op, place in ops:
        for buffer in written_roots(op):
            found[buffer].append(place)
    return found


def may_move(nest: NestOp, first: int, last: int, writes: Writes) -> bool:
    """Whether a nest may move down from place `first` to `last`: what it reads is not written between."""
    read = {root(value) for value in nest.ins}
    return first < last and not any(_is_within(writes.get(b, ()), first, last) for b in read)


def _is_within(places: Sequence[int], first: int, last: int) -> bool:
    """Whether one of `places`, in order, is between `first` and `last`."""
    after = bisect_right(places, first)
    return after < len(places) and places[after] < last
