"""How many iterations a loop of computed bounds has, and which index each of them has, as values.

for i = a to b step s    -->    T = ceil((max(a, b) - a) / s), 0 where s <= 0;    i = a + t * s
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from inarch.dialects.loop.control import ForOp
from inarch.ir.index.span import number_of_index
from inarch.passes.loop.nests.writer import Writer

_LAST = (1 << 63) - 1


@dataclass(frozen=True)
class Indices(Writer):
    """Writes what the loop `origin` counts, at its location."""

    origin: ForOp

    def iterations(self) -> SSAValue:
        """How often the loop runs: at most 2^63 - 1 times, which no loop lives to see.

        The distance of two numbers of 64 bits is one without a sign.
        """
        lower, upper, step = self.origin.bounds
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
        lower, _, step = self.origin.bounds
        if number_of_index(step) != 1:
            iteration = self.put(arith.MuliOp(iteration, self.value(step)))
        if number_of_index(lower) == 0:
            return iteration
        return self.put(arith.AddiOp(iteration, self.value(lower)))
