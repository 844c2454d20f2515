"""The iterator along which a group's softmax runs, and which of its nests may run along it in parts.

    S = Q K         each nest's iterator over the keys n:   n
    m = max(S)                                              r   reduces
    W = exp(S - m)                                          n
    l = sum(W)                                              r   reduces
    Y = (W V) / l                                           k   reduces

The maximum of two parts is that of their maxima, and weights `exp(x - m)` become those of a larger maximum by
a factor `exp(m - m')`: sums of weights, and products with them, of parts can be joined (`running.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.nest import NestOp
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.tiling.classes import fits
from inarch.passes.loop.tiling.group import Group
from inarch.passes.loop.tiling.softmax import is_sum_of, maximum_of, writer_of


@dataclass(frozen=True)
class Window:
    """Of row m, keys from m + first on and below m + last; None: from the first one on, to the last one."""

    first: int | None = None
    last: int | None = None
    always: int = 0
    """So many of the first keys are seen before `first`, too."""

    @property
    def is_whole(self) -> bool:
        """Whether all rows may see all keys."""
        return self.first is None and self.last is None

    def blocks(self, rows: range, size: int, count: int) -> int:
        """How many blocks of `count` of `size` keys some of these rows see."""
        end = size if self.last is None else max(0, min(size, rows[-1] + self.last))
        start = 0 if self.first is None else max(0, rows[0] + self.first)
        leading, behind = -(-self.always // count), -(-end // count)
        return min(leading, behind) + len(range(max(leading, start // count), behind))


@dataclass(frozen=True)
class Keys:
    """What of a group runs along the keys. Nests are their positions in the group."""

    size: int
    iterators: tuple[int | None, ...]
    """Of each nest, that over the keys; None: it has none."""
    axes: Mapping[SSAValue, int]
    """Of each scratch buffer with a dimension of keys: which one."""
    maximum: int
    weights: int
    total: int
    products: tuple[int, ...]
    behind: frozenset[int]
    """Nests without keys that read what the sums or products write."""
    window: Window = Window()
    """The keys that rows of the innermost class may have a weight of."""


def keys_of(group: Group) -> Keys | None:
    """The keys of the group's softmax; None where it has none whose parts can be joined."""
    for position, nest in enumerate(group.nests):
        at = maximum_of(nest)
        if at is not None:
            return _Search(group, position, nest.ins[at]).keys()
    return None


class _Search:
    def __init__(self, group: Group, weights: int, maximum: SSAValue) -> None:
        self.group = group
        self.weights = weights
        self.buffer = group.nests[weights].outs[0]
        self.largest = maximum
        self.axes: dict[SSAValue, int] = {}
        self.iterators: list[int | None] = [None] * len(group.nests)

    def keys(self) -> Keys | None:
        """The whole, once its parts have been found."""
        roles = self._roles()
        if roles is None:
            return None
        maximum, total, products = roles
        joined = (maximum, total, *products)
        if not self._follow(joined) or not self._may_be_parted(joined):
            return None
        behind = self._behind({total, *products})
        if behind is None:
            return None
        return Keys(
            self._size(),
            tuple(self.iterators),
            self.axes,
            maximum,
            self.weights,
            total,
            products,
            behind,
        )

    def _roles(self) -> tuple[int, int, tuple[int, ...]] | None:
        """Which nests write the maximum, sum the weights up, multiply them: the only ones to read them."""
        nests, scratch = self.group.nests, self.group.scratch
        writer = writer_of(self.largest)
        if writer not in nests or self.buffer not in scratch or self.largest not in scratch:
            return None
        readers = {at for at, nest in enumerate(nests) if self.buffer in nest.ins}
        totals = [at for at in readers if is_sum_of(nests[at], self.buffer)]
        products = tuple(at for at in sorted(readers) if _is_product_of(nests[at], self.buffer))
        if len(totals) != 1 or not products or readers != {*totals, *products}:
            return None
        if any(self.largest in nest.ins for at, nest in enumerate(nests) if at != self.weights):
            return None
        return nests.index(writer), totals[0], products

    def _follow(self, joined: Sequence[int]) -> bool:
        """Finds the iterators over the keys, from what reduces on, through what the nests share."""
        for position in joined:
            iterators = self.group.nests[position].iterators
            self.iterators[position] = next(
                at for at, iterator in enumerate(iterators) if iterator.is_reduction
            )
        todo = list(joined)
        while todo:
            found = self._carry(todo.pop())
            if found is None:
                return False
            todo += found
        return True

    def _carry(self, position: int) -> list[int] | None:
        """The nests that get their iterators from that of one of them; None where there is no such."""
        at = self.iterators[position]
        assert at is not None, "only what has one is asked"
        shared = [
            (one, one.dimension_of(at))
            for one in self.group.operands[position]
            if one.value in self.group.scratch and one.uses(at)
        ]
        found: list[int] = []
        for operand, axis in shared:
            if axis is None or self.axes.setdefault(operand.value, axis) != axis:
                return None
            for other, operands in enumerate(self.group.operands):
                for one in operands:
                    if one.value is not operand.value:
                        continue
                    lone = one.index[axis].lone_iterator
                    if lone is None or self.iterators[other] not in (None, lone):
                        return None
                    if self.iterators[other] is None:
                        self.iterators[other] = lone
                        found.append(other)
        return found

    def _size(self) -> int:
        at = self.iterators[self.weights]
        assert at is not None, "the sum's leads to that of the weights"
        return self.group.nests[self.weights].sizes[at]

    def _may_be_parted(self, joined: Sequence[int]) -> bool:
        """Whether each nest has parts of the keys, and only those that are `joined` reduce along them."""
        size = self._size()
        for position, (nest, at) in enumerate(zip(self.group.nests, self.iterators, strict=True)):
            if at is None:
                continue
            reduces = nest.iterators.data[at].is_reduction
            if nest.sizes[at] != size or reduces != (position in joined):
                return False
            if not fits(self.group.operands[position], at, size):
                return False
            if reduces and not self._has_rows(position):
                return False
        return True

    def _has_rows(self, position: int) -> bool:
        """Whether its parallel iterators are the group's classes, but for a product's columns."""
        nest = self.group.nests[position]
        own = {classes[position] for classes in self.group.classes}
        contraction = match_contraction(nest)
        columns: set[int] = set() if contraction is None else _columns(nest, self.buffer)
        return all(
            at in own or at in columns or iterator.is_reduction or iterator.size.data == 1
            for at, iterator in enumerate(nest.iterators)
        )

    def _behind(self, ends: set[int]) -> frozenset[int] | None:
        """The nests behind the sums and products; None where one that runs along the keys is such a one."""
        late = {out for at in ends for out in self.group.nests[at].outs}
        behind: set[int] = set()
        for position, nest in enumerate(self.group.nests):
            read = late.intersection(nest.ins)
            if position in ends or not read:
                # Of a product, `finish` alone may read what is known at the end: its factors do not.
                if position in ends and not _ends_only(nest, read):
                    return None
                continue
            if self.iterators[position] is not None:
                return None
            behind.add(position)
            late.update(nest.outs)
        return frozenset(behind)


def _is_product_of(nest: NestOp, buffer: SSAValue) -> bool:
    contraction = match_contraction(nest)
    if contraction is None or number_of(nest.writes.data[0].init) != 0:
        return False
    factors = (nest.ins[contraction.a], nest.ins[contraction.b])
    return len(contraction.reductions) == 1 and factors.count(buffer) == 1


def _columns(nest: NestOp, weights: SSAValue) -> set[int]:
    contraction = match_contraction(nest)
    assert contraction is not None, "who asks has seen to it"
    return set(contraction.columns if nest.ins[contraction.a] is weights else contraction.rows)


def _ends_only(nest: NestOp, values: set[SSAValue]) -> bool:
    """Whether only the `finish` of a nest uses what it reads of some buffers."""
    arguments = nest.element_arguments(nest.body)
    return not any(arguments[at].uses for at, value in enumerate(nest.ins) if value in values)
