"""Writing ops one behind another, all at the location of one op: what loops are written with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.dialects.loop.control import Bound, ForOp
from inarch.dialects.loop.nest import YieldOp


@dataclass(frozen=True)
class Writer:
    """Writes where `builder` is, at the location of `origin`."""

    builder: Builder
    origin: Operation

    @classmethod
    def before(cls, place: Operation, origin: Operation) -> Self:
        """Writes in front of an op."""
        return cls(Builder(InsertPoint.before(place)), origin)

    def within(self, loop: ForOp) -> Self:
        """Writes at the end of a loop's body."""
        return replace(self, builder=Builder(InsertPoint.at_end(loop.body.block)))

    def end(self) -> None:
        """Ends the body of a loop."""
        self.add(YieldOp())

    def put(self, op: Operation) -> SSAValue:
        """The result of `op`."""
        self.add(op)
        return op.results[0]

    def add(self, op: Operation) -> None:
        """Writes `op`."""
        op.location = self.origin.location
        self.builder.insert(op)

    def value(self, number: Bound) -> SSAValue:
        """A number as a value of type index."""
        if not isinstance(number, int):
            return number
        return self.put(arith.ConstantOp.from_int_and_width(number, IndexType()))
