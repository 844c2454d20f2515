"""Loops of one iteration vanish: a nest keeps only the iterators of more (or fewer) than one point.

    loop.nest (n = 1, c = 8) ins(%x[n, c] ...)  -->  loop.nest (c = 8) ins(%x[0, c] ...)

Batch size 1, 1x1 convolutions and depthwise groups then look like what they are to every later pass.
A nest that reduces keeps one reduction iterator, so that it still reads as a reduction; a scan
stays, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr

from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.nest import NestOp
from inarch.ir.passes import OptionalPass
from inarch.passes.loop.nests.transform import replace_iterators


@dataclass(frozen=True)
class DropUnitIteratorsPass(OptionalPass):
    """Removes iterators of size 1 from every nest."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nest in free_nests(op):
            kept = _kept(nest)
            if len(kept) < len(nest.iterators):
                _drop(nest, kept)


def _kept(nest: NestOp) -> list[int]:
    """Positions of the iterators that stay."""
    reductions = [i for i, iterator in enumerate(nest.iterators) if iterator.is_reduction]
    only_unit = reductions and all(nest.sizes[i] == 1 for i in reductions)
    needed = reductions[:1] if only_unit else []
    needed += [i for i, iterator in enumerate(nest.iterators) if iterator.is_scan]
    return [i for i, size in enumerate(nest.sizes) if size != 1 or i in needed]


def _drop(nest: NestOp, kept: list[int]) -> None:
    place = {old: new for new, old in enumerate(kept)}
    substitution = [
        AffineExpr.dimension(place[i]) if i in place else AffineExpr.constant(0)
        for i in range(len(nest.iterators))
    ]
    replace_iterators(nest, [nest.iterators.data[i] for i in kept], substitution)
