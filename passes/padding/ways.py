"""Alternatives of a nest: ops that compute the same, of which the cheapest takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.ir.edit import replace_op
from inarch.ir.functions import entry_blocks
from inarch.ir.index.linear import Linear, affine_map
from inarch.passes.tensorize.choose import Price, Prices


def free_nests(module: ModuleOp) -> Iterator[NestOp]:
    """The nests of the functions' own blocks that have points, and that a pass may change."""
    for _, block in entry_blocks(module):
        for nest in [op for op in block.ops if isinstance(op, NestOp)]:
            if not is_kept(nest) and 0 not in nest.sizes:
                yield nest


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


def copy_nest(
    iterators: Sequence[IteratorAttr],
    source: SSAValue,
    read: ReadAttr,
    target: SSAValue,
    write: Sequence[Linear],
    location: LocationAttr,
) -> NestOp:
    """A nest that copies: at each point, what it reads of `source`, to `target` at the index `write`."""
    block = Block(arg_types=[memref_of(target).element_type] * 2)
    block.add_op(YieldOp(block.args[0]))
    index = WriteAttr.get(affine_map(write, len(iterators)))
    nest = NestOp(iterators, [source], [read], [target], [index], Region(block))
    nest.location = location
    return nest
