"""Whether an op, with all that is nested in it, is as it was: what need not be verified or computed again."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_ as _is

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, OpResult, SSAValue


class Fingerprint:
    """What an op was made of: its ops in their order, their operands, attributes, and the types of values.

    All by identity, and all are held: an address cannot come to mean something else. Names and locations do
    not count. Taking one, or comparing, takes a walk of the op.
    """

    def __init__(self, op: Operation) -> None:
        self._parts = tuple(_parts(op))

    def is_same(self, other: Fingerprint) -> bool:
        """Whether both are of one op that has not changed in between."""
        mine, theirs = self._parts, other._parts
        return len(mine) == len(theirs) and all(map(_is, mine, theirs))


def _parts(op: Operation) -> Iterator[object]:
    for inner in op.walk():
        yield inner
        for operand in inner.operands:
            yield from (operand, operand.type)
            if isinstance(operand.type, MemRefType):
                yield from _views(operand)
        yield from (result.type for result in inner.results)
        yield from inner.properties.values()
        yield from inner.attributes.values()
        yield from (argument.type for r in inner.regions for b in r.blocks for argument in b.args)


def _views(buffer: SSAValue) -> Iterator[object]:
    """What a buffer is a view of: what is found out of an op may go through views."""
    while isinstance(buffer, OpResult) and buffer.op.operands:
        yield buffer.op
        yield from buffer.op.properties.values()
        buffer = buffer.op.operands[0]
        yield buffer
