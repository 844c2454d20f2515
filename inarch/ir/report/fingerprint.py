"""Whether an op, with all that is nested in it, is as it was: what need not be verified or computed again."""

from __future__ import annotations

from operator import is_ as _is

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, OpResult, SSAValue

from inarch.ir.report.walk import ops_within


class Fingerprint:
    """What an op was made of: its ops in their order, their operands, attributes, and the types of values.

    All by identity, and all are held: an address cannot come to mean something else. Names and locations do
    not count. Taking one, or comparing, takes a walk of the op.
    """

    def __init__(self, op: Operation) -> None:
        self._parts = _parts(op)

    def is_same(self, other: Fingerprint) -> bool:
        """Whether both are of one op that has not changed in between."""
        mine, theirs = self._parts, other._parts
        return len(mine) == len(theirs) and all(map(_is, mine, theirs))


def _parts(op: Operation) -> list[object]:
    parts: list[object] = []
    for inner in ops_within(op):
        parts.append(inner)
        for operand in inner.operands:
            kind = operand.type
            parts += (operand, kind)
            if isinstance(kind, MemRefType):
                _add_views(operand, parts)
        parts += [result.type for result in inner.results]
        parts += inner.properties.values()
        parts += inner.attributes.values()
        parts += [argument.type for r in inner.regions for b in r.blocks for argument in b.args]
    return parts


def _add_views(buffer: SSAValue, parts: list[object]) -> None:
    """Adds what a buffer is a view of: what is found out of an op may go through views."""
    while isinstance(buffer, OpResult) and buffer.op.operands:
        parts.append(buffer.op)
        parts += buffer.op.properties.values()
        buffer = buffer.op.operands[0]
        parts.append(buffer)
