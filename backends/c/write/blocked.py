"""Sums of many floats in plain loops: a block of terms, then into totals (`value/blocks.py`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from inarch.backends.c.plan.linear import LoopNest
from inarch.backends.c.write.scope import Scope
from inarch.backends.c.write.value.blocks import BLOCK, BLOCK_OF_PRODUCTS, LongSum
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.rounding import added, fused_product


@dataclass
class Blocks:
    """The accumulators of a nest that are sums of more terms than a block has; there may be none."""

    nest: LoopNest
    scope: Scope
    outputs: Sequence[int]
    """Which of the nest's."""
    elements: int
    """How many accumulators each has; 0: one, that is no array."""
    inside: int
    """Terms between two `step`s."""
    block: int
    sums: list[LongSum] = field(default_factory=list[LongSum])
    since: str = ""

    @staticmethod
    def of(nest_op: NestOp, nest: LoopNest, tile: Sequence[int], scope: Scope) -> Blocks:
        """Those of a nest with arrays over the loops of `tile`."""
        reductions = [loop for loop in nest.loops if loop.is_reduction]
        terms = math.prod(loop.size for loop in reductions)
        yielded = nest_op.yielded(nest_op.body)
        floats = [at for at, write in enumerate(nest.writes) if write.dtype.is_float]
        outputs = [at for at in floats if added(yielded[at]) is not None]
        ops = [yielded[at].owner for at in outputs]
        products = any(isinstance(op, Operation) and fused_product(op) is not None for op in ops)
        block = BLOCK_OF_PRODUCTS if products else BLOCK
        first = min(tile) if tile else len(nest.loops)
        inside = math.prod(loop.size for loop in nest.loops[first:] if loop.is_reduction)
        elements = math.prod(nest.loops[at].size for at in tile) if tile else 0
        found = outputs if terms > 2 * block else []
        return Blocks(nest, scope, found, elements, inside, block)

    def begin(self, accumulators: Sequence[str]) -> None:
        """Declares the totals beside the accumulators that have begun."""
        writer, names = self.scope.writer, self.scope.names
        if not self.outputs:
            return
        for at in self.outputs:
            dtype = self.nest.writes[at].dtype
            total, lost = names.fresh("total"), names.fresh("lost")
            each = LongSum(accumulators[at], total, lost, dtype, dtype.c)
            self.sums.append(each)
            if not self.elements:
                self._lines(each.declare())
                continue
            writer.line(f"{dtype.c} {total}[{self.elements}], {lost}[{self.elements}];")
            self._open()
            writer.line(f"{total}[j] = {lost}[j] = {each.none};")
            writer.close()
        self.since = names.fresh("since")
        writer.line(f"int64_t {self.since} = 0;")

    def step(self) -> None:
        """After each term: what a whole block has goes into the totals."""
        if not self.outputs:
            return
        writer = self.scope.writer
        count = f"++{self.since}" if self.inside == 1 else f"({self.since} += {self.inside})"
        writer.open(f"if ({count} >= {self.block})")
        self._flush()
        writer.line(f"{self.since} = 0;")
        writer.close()

    def end(self, accumulators: Sequence[str]) -> list[str]:
        """The accumulators, which have their sums now."""
        if self.outputs:
            self._flush()
        for each in self.sums:
            one = self._element(each)
            self._open()
            self.scope.writer.line(f"{one.part} = {one.total} + {one.lost};")
            self._close()
        return list(accumulators)

    def _flush(self) -> None:
        for each in self.sums:
            self._open()
            self._lines(self._element(each).flush())
            self._close()

    def _element(self, each: LongSum) -> LongSum:
        if not self.elements:
            return each
        part, total, lost = (f"{name}[j]" for name in (each.part, each.total, each.lost))
        return LongSum(part, total, lost, each.dtype, each.kind)

    def _open(self) -> None:
        if self.elements:
            self.scope.writer.open(f"for (int64_t j = 0; j < {self.elements}; j++)")

    def _close(self) -> None:
        if self.elements:
            self.scope.writer.close()

    def _lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.scope.writer.line(line)
