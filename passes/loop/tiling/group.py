"""Which nests may share a loop: those whose common buffers each turn writes and reads one part of.

A *class* is one iterator of each nest, all of one size and parallel, such that every buffer that one of them
writes and another one touches is indexed by it, alone in its dimension. A loop over a class then runs them
all for a part of it: what a turn reads of such a buffer, the same turn has written, and no other one touches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects.loop.buffer import AllocOp, root
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import points_of
from inarch.ir.index.linear import Linear, linear_map
from inarch.passes.loop.nests.uses import written_roots

MOST_NESTS = 32
"""Of a group: the text of a loop's body."""


@dataclass(frozen=True)
class Operand:
    """A buffer as a nest touches it."""

    value: SSAValue
    index: tuple[Linear, ...]
    is_guarded: bool
    """Whether indices may be outside of it: `pad` and `clip` count from its borders."""

    def uses(self, iterator: int) -> bool:
        """Whether it touches another part where the iterator is another."""
        return any(form.coefficients[iterator] for form in self.index)

    def dimension_of(self, iterator: int) -> int | None:
        """The one dimension that the iterator indexes, alone; None where there is no such."""
        found = [axis for axis, form in enumerate(self.index) if form.coefficients[iterator]]
        if len(found) != 1 or self.index[found[0]].lone_iterator != iterator:
            return None
        return found[0]


def operands_of(nest: NestOp) -> list[Operand]:
    """What a nest reads, then what it writes."""
    reads = zip(nest.ins, nest.reads, strict=True)
    writes = zip(nest.outs, nest.writes, strict=True)
    return [
        *(Operand(v, linear_map(r.map.data), r.is_padded) for v, r in reads),
        *(Operand(v, linear_map(w.map.data), w.clips) for v, w in writes),
    ]


@dataclass(frozen=True)
class Group:
    """Nests, in order, that one loop, or several in each other, may run in parts."""

    nests: tuple[NestOp, ...]
    classes: tuple[tuple[int, ...], ...]
    """Of each class its iterator in each nest, outermost first as the last nest has them."""

    @cached_property
    def operands(self) -> tuple[tuple[Operand, ...], ...]:
        """Of each nest."""
        return tuple(tuple(operands_of(nest)) for nest in self.nests)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Of each class."""
        return tuple(self.nests[0].sizes[own[0]] for own in self.classes)

    @cached_property
    def scratch(self) -> tuple[SSAValue, ...]:
        """What nobody else uses: each turn has a part of it, and forgets it."""
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


def groups(block: Block) -> Iterator[Group]:
    """For each nest of a block, the groups that begin with it, each with one more than the one before."""
    nests = [op for op in block.ops if isinstance(op, NestOp)]
    for first, nest in enumerate(nests):
        if _is_simple(nest) and any(isinstance(out.owner, AllocOp) for out in nest.outs):
            yield from _grown(nest, nests[first + 1 :])


def _grown(nest: NestOp, rest: Sequence[NestOp]) -> Iterator[Group]:
    taken = [nest]
    written = {root(out) for out in nest.outs}
    between: list[Operation] = []
    current: Operation = nest
    for follower in rest:
        between += _ops_between(current, follower)
        current = follower
        if not any(root(value) in written for value in follower.ins):
            between.append(follower)
            continue
        if not _is_simple(follower) or not _may_pass(taken, between) or len(taken) == MOST_NESTS:
            return
        taken.append(follower)
        written |= {root(out) for out in follower.outs}
        classes = _classes(taken, written)
        if not classes:
            return
        yield Group(tuple(taken), classes)


def _ops_between(first: Operation, last: Operation) -> Iterator[Operation]:
    op = first.next_op
    while op is not None and op is not last:
        yield op
        op = op.next_op


def _may_pass(taken: Sequence[NestOp], between: Sequence[Operation]) -> bool:
    """Whether nests may move down behind others: these touch nothing of theirs that one of both writes."""
    touched = {root(value) for nest in taken for value in nest.operands}
    written = {root(out) for nest in taken for out in nest.outs}
    for op in between:
        if any(root(value) in written for inner in op.walk() for value in inner.operands):
            return False
        if written_roots(op) & touched:
            return False
    return True


def _is_simple(nest: NestOp) -> bool:
    """One that has points and one output, and that no author has scheduled.

    Its reads are where its iterators say, and it does not ask where its points are: a block's begin at 0.
    """
    if len(nest.outs) != 1 or 0 in nest.sizes or nest.has_scan or is_kept(nest):
        return False
    regions = [nest.body, *([nest.finish] if nest.finish is not None else [])]
    return not is_indirect(nest) and not any(points_of(region.block) for region in regions)


def _classes(nests: Sequence[NestOp], written: set[SSAValue]) -> tuple[tuple[int, ...], ...]:
    """The classes that fit all nests, in the order of the last one's iterators."""
    operands = [operands_of(nest) for nest in nests]
    shared: dict[SSAValue, list[tuple[int, Operand]]] = {}
    for position, own in enumerate(operands):
        for operand in own:
            if root(operand.value) in written:
                if operand.value is not root(operand.value):
                    return ()  # through a view
                shared.setdefault(operand.value, []).append((position, operand))
    found: list[tuple[int, ...]] = []
    last = len(nests) - 1
    for iterator, size in enumerate(nests[last].sizes):
        own = _spread(nests, shared, last, iterator) if size > 1 else None
        if own is not None and _fits(operands, own):
            found.append(own)
    return tuple(found)


def _spread(
    nests: Sequence[NestOp],
    shared: dict[SSAValue, list[tuple[int, Operand]]],
    start: int,
    iterator: int,
) -> tuple[int, ...] | None:
    """The class with that iterator of the nest at `start`: one of each nest, through what they share."""
    found = {start: iterator}
    pending = [start]
    while pending:
        position = pending.pop()
        for touching in shared.values():
            for _, operand in (one for one in touching if one[0] == position):
                axis = operand.dimension_of(found[position])
                if axis is None:
                    return None
                for other, theirs in touching:
                    own = theirs.index[axis].lone_iterator
                    if own is None or found.get(other, own) != own:
                        return None
                    if other not in found:
                        found[other] = own
                        pending.append(other)  # each nest once, with all that it shares
    if len(found) != len(nests):
        return None
    size = nests[start].sizes[iterator]
    is_class = all(
        nests[at].sizes[own] == size and not nests[at].iterators.data[own].is_reduction
        for at, own in found.items()
    )
    return tuple(found[at] for at in range(len(nests))) if is_class else None


def _fits(operands: Sequence[Sequence[Operand]], own: Sequence[int]) -> bool:
    """Whether a part of the class is a box of each operand that begins where the class says.

    Of a guarded one it is alone in its dimension: elsewhere what is outside would be outside of the part.
    """
    return all(
        all(form.coefficients[at] >= 0 for form in operand.index)
        and (not operand.is_guarded or not operand.uses(at) or operand.dimension_of(at) is not None)
        for mine, at in zip(operands, own, strict=True)
        for operand in mine
    )
