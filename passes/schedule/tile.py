"""`tile`: blocks of points. Each iterator is split, and the inner ones go innermost, in the order named.

m, n, k; tile m 4 n 16     -->     mo, no, k, mi = 4, ni = 16
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import UsageError
from inarch.dialects.loop.nest import NestOp
from inarch.passes.schedule.interchange import interchange
from inarch.passes.schedule.language.places import Loops, error_of, iterator_of
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words
from inarch.passes.schedule.split import split


def tile(nest: NestOp, sizes: Mapping[str, int], *, reassociate: bool = False) -> NestOp:
    """Tiles iterators of a nest; as `split` of each, then `interchange`, and with their errors.

    `reassociate`: sums may be in another order, as they are where several reductions are tiled.
    """
    for iterator in sizes:
        iterator_of(nest, iterator)
    inner = [f"{iterator}i" for iterator in sizes]
    for iterator, size in sizes.items():
        split(nest, iterator, size)
    order = [*(name for name in nest.names if name not in inner), *inner]
    interchange(nest, order, reassociate=reassociate)
    return nest


def _done(op: Loops, sizes: Mapping[str, int], *, reassociate: bool) -> Loops:
    if not isinstance(op, NestOp):
        raise error_of(op, "expected a loop.nest, found a loop.for; split it, and interchange")
    return tile(op, sizes, reassociate=reassociate)


def _read(words: Words) -> Action:
    reassociate = words.has("reassociate")
    sizes = words.sizes("an iterator")
    return lambda _, op: _done(op, sizes, reassociate=reassociate)


STEP = Step("tile [reassociate] ITERATOR SIZE [ITERATOR SIZE ...]", _read)


@dataclass(frozen=True)
class TilePass(StepPass):
    """Tiles iterators of a nest that is named.

    `nest`: as for `split`. `iterators`: which ones, in the order in which the inner ones stand; `sizes`: of
    the tiles. `reassociate`: sums may be in another order.
    """

    iterators: tuple[str, ...]
    sizes: tuple[int, ...]
    reassociate: bool = False

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        if len(self.iterators) != len(self.sizes):
            found = f"{len(self.sizes)} for {len(self.iterators)} iterators"
            raise UsageError(f"sizes: expected one for each iterator, found {found}")
        sizes = dict(zip(self.iterators, self.sizes, strict=True))
        if len(sizes) < len(self.sizes):
            raise UsageError("iterators: expected each once")
        return _done(op, sizes, reassociate=self.reassociate)
