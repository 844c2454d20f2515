"""How many iterations a loop of computed bounds has, and which index each of them has, as values.

for i = a to b step s    -->    T = ceil((max(a, b) - a) / s), 0 where s <= 0;    i = a + t * s
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from inarch.dialects.loop.control import Bound, ForOp
from inarch.ir.index.span import number_of_index

_LAST = (1 << 63) - 1


@dataclass(frozen=True)
class Indices:
    """Writes values of type index where `builder` is, at the location of `loop`."""

    builder: Builder
    loop: ForOp

    def put(self, op: Operation) -> SSAValue:
        """The result of `op`."""
        self.add(op)
        return op.results[0]

    def add(self, op: Operation) -> None:
        """Writes `op`."""
        op.location = self.loop.location
        self.builder.insert(op)

    def value(self, number: Bound) -> SSAValue:
        """A number as a value."""
        if not isinstance(number, int):
            return number
        return self.put(arith.ConstantOp.from_int_and_width(number, IndexType()))

    def iterations(self) -> SSAValue:
        """How often the loop runs: at most 2^63 - 1 times, which no loop lives to see.

        The distance of two numbers of 64 bits is one without a sign.
        """
        lower, upper, step = self.loop.bounds
        start, by = number_of_index(lower), number_of_index(step)
        end = self.put(arith.MaxSIOp(self.value(upper), self.value(lower)))
        if by is None:
            goes = self.put(arith.CmpiOp(self.value(step), self.value(0), "sgt"))
            end = self.put(arith.SelectOp(goes, end, self.value(lower)))
            step = self.put(arith.MaxSIOp(self.value(step), self.value(1)))
        iterations = end if start == 0 else self.put(arith.SubiOp(end, self.value(lower)))
        if by != 1:
            iterations = self.put(arith.CeilDivUIOp(iterations, self.value(step)))
        if start is None or start < 0:
            iterations = self.put(arith.MinUIOp(iterations, self.value(_LAST)))
        return iterations

    def index(self, iteration: SSAValue) -> SSAValue:
        """The loop's own index in an iteration."""
        lower, _, step = self.loop.bounds
        if number_of_index(step) != 1:
            iteration = self.put(arith.MuliOp(iteration, self.value(step)))
        if number_of_index(lower) == 0:
            return iteration
        return self.put(arith.AddiOp(iteration, self.value(lower)))
