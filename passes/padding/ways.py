"""Alternatives of a nest: ops that compute the same, of which the cheapest takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import replace_op
from inarch.passes.tensorize.choose import Price, Prices


@dataclass(frozen=True)
class Way:
    """Ops that can replace a nest."""

    ops: tuple[Operation, ...]
    label: str
    """What a remark says of it."""

    @property
    def nests(self) -> list[NestOp]:
        return [op for op in self.ops if isinstance(op, NestOp)]

    def drop(self) -> None:
        """Erases the ops, which are in no block."""
        for op in reversed(self.ops):
            op.erase()

    def replace(self, nest: NestOp) -> None:
        """Puts the ops in the place of the nest."""
        replace_op(nest, *self.ops)


def cheapest(ways: Sequence[Way], prices: Prices) -> tuple[Way, Price]:
    """The way of the least price, the first of equal ones; the others are dropped."""
    costs = [prices.price(way.nests) for way in ways]
    least = min(costs)
    best = ways[costs.index(least)]
    for way in ways:
        if way is not best:
            way.drop()
    return best, least
