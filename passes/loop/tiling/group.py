"""Which nests of a block may share loops: they lead to each other, and have iterators that go together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.ir import Block, SSAValue

from inarch.core.once import cached_property
from inarch.dialects.loop.buffer import AllocOp, root
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import points_of
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.uses import BufferUses
from inarch.passes.loop.tiling.classes import Classes, Operand, operands_of

MOST_NESTS = 16
"""Of a group: the text of a loop's body."""


@dataclass(frozen=True)
class Group:
    """Nests, in order, that one loop, or several in each other, may run in parts."""

    nests: tuple[NestOp, ...]
    classes: tuple[tuple[int, ...], ...]
    """Of each class its iterator in each nest, outermost first as the last nest has them."""
    operands: tuple[tuple[Operand, ...], ...]
    """Of each nest."""

    @staticmethod
    def of(nests: Sequence[NestOp], classes: tuple[tuple[int, ...], ...]) -> Group:
        """The group of these nests."""
        return Group(tuple(nests), classes, tuple(map(operands_of, nests)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Of each class."""
        return tuple(self.nests[0].sizes[own[0]] for own in self.classes)

    @cached_property
    def scratch(self) -> tuple[SSAValue, ...]:
        """What nobody else uses: each iteration has a part of it, and forgets it."""
        written = dict.fromkeys(value for nest in self.nests for value in nest.outs)
        return tuple(v for v in written if isinstance(v.owner, AllocOp) and self._is_ours(v))

    def _is_ours(self, buffer: SSAValue) -> bool:
        return all(use.operation in self.nests for use in buffer.uses)

    def dimension(self, value: SSAValue, which: int) -> int | None:
        """The dimension of a shared buffer that a class indexes."""
        for position, operands in enumerate(self.operands):
            for operand in operands:
                if operand.value is value:
                    return operand.dimension_of(self.classes[which][position])
        return None


def groups(block: Block, *, least_bytes: int = 0, whole_products: bool = False) -> Iterator[Group]:
    """For each nest of a block, the groups that begin with it, each with one more than the one before.

    `least_bytes`: those that hand on less, and read less more than once, are left out. `whole_products`:
    products stay out of them, for a kernel of whole ones.
    """
    found = _Search(BufferUses.of_block(block), least_bytes, whole_products)
    nests = [op for op in found.ops if isinstance(op, NestOp)]
    if MOST_NESTS * max(map(_touched, nests), default=0) < least_bytes:
        return  # without a look at any: small programs have many of them
    for nest in nests:
        if _scratch_of(nest):
            yield from found.grown(nest)


class _Search:
    """The groups of a block. What is asked of a nest again and again is found once."""

    def __init__(self, uses: BufferUses, least_bytes: int, whole_products: bool) -> None:
        self.uses = uses
        self.least_bytes = least_bytes
        self.ops = list(uses.places)
        self.whole_products = whole_products
        self.operands = cache(operands_of)
        self.fits = cache(self._fits)

    def grown(self, nest: NestOp) -> Iterator[Group]:
        """The groups that begin with a nest: who uses what they write is one of them, or is behind them."""
        if not self.fits(nest):
            return
        taken, classes = [nest], Classes(nest, self.operands(nest))
        touched = {root(value) for value in nest.operands}
        written = {root(out) for out in nest.outs}
        nbytes_shared = _scratch_of(nest)
        place = self.uses.places[nest]
        while len(taken) < MOST_NESTS:
            following = self._next_use(written, place)
            if following is None:
                return
            follower = self.ops[following]
            if not isinstance(follower, NestOp) or not self.fits(follower):
                return
            if any(self.uses.is_written_within(value, place, following) for value in touched):
                return  # they cannot move down to it
            taken.append(follower)
            again = {root(value) for value in follower.ins} & (touched - written)
            nbytes_shared += sum(nbytes(memref_of(value)) for value in again)
            touched |= {root(value) for value in follower.operands}
            written |= {root(out) for out in follower.outs}
            nbytes_shared += _scratch_of(follower)
            place = following
            classes.grow(follower, self.operands(follower))
            if not classes.found:
                return
            if nbytes_shared >= self.least_bytes:
                yield Group(tuple(taken), classes.found, tuple(map(self.operands, taken)))

    def _next_use(self, buffers: Iterable[SSAValue], place: int) -> int | None:
        """The first place behind `place` where one of them is used."""
        return min(
            (
                places[after]
                for places in (self.uses.used[buffer] for buffer in buffers)
                if (after := bisect_right(places, place)) < len(places)
            ),
            default=None,
        )

    def _fits(self, nest: NestOp) -> bool:
        return _is_simple(nest) and not (
            self.whole_products and match_contraction(nest) is not None
        )


def _is_simple(nest: NestOp) -> bool:
    """One that has points and one output, and that no author has scheduled.

    Its reads are where its iterators say, and it does not ask where its points are: a block's begin at 0.
    """
    if len(nest.outs) != 1 or 0 in nest.sizes or nest.has_scan or is_kept(nest):
        return False
    regions = [nest.body, *([nest.finish] if nest.finish is not None else [])]
    return not is_indirect(nest) and not any(points_of(region.block) for region in regions)


def _scratch_of(nest: NestOp) -> int:
    """Bytes that it writes and that may become an iteration's."""
    return sum(nbytes(memref_of(out)) for out in nest.outs if isinstance(out.owner, AllocOp))


def _touched(nest: NestOp) -> int:
    """Bytes of the largest of its buffers."""
    return max((nbytes(memref_of(value)) for value in nest.operands), default=0)
