"""Unifying iterators: which axis of a nest each iterator of a meaning takes, or a part of.

An assignment gives each axis a (possibly empty) sequence of iterators, outermost first: `n` is given
`(v, l)` when it runs as `v * size(l) + l`. An axis without iterators becomes a loop around the call;
an iterator without an axis has size 1. An iterator takes an axis of its own kind along which no
operand moves that the iterator does not move.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from inarch.core.once import cached_property
from inarch.passes.tensorize.unify.pattern import KernelPattern
from inarch.passes.tensorize.unify.strided import StridedNest

MAX_SHARED = 2
"""Iterators of one axis: vectors and lanes."""

MAX_ASSIGNMENTS = 4096
"""Of one binding; a bound on the search that no real meaning comes near."""


@dataclass(frozen=True)
class Assignment:
    """`taken[axis]`: the iterators that take it, outermost first."""

    taken: tuple[tuple[str, ...], ...]

    def axis_of(self, iterator: str) -> int | None:
        """The axis that `iterator` takes."""
        return next((axis for axis, names in enumerate(self.taken) if iterator in names), None)


def assignments(
    pattern: KernelPattern,
    nest: StridedNest,
    moves: Mapping[str, Sequence[int]],
    packed: Collection[str] = (),
) -> list[Assignment]:
    """The assignments worth a look: those in which no iterator leaves an axis that it could take.

    `moves[operand]` are its strides by axis; the layouts of `packed` operands cost nothing.
    Iterators that nothing tells apart take axes in the order of these, the longest stride first. An
    iterator along which the output must be contiguous takes an axis where it is, if there is one.
    """
    fits = {
        iterator.name: [
            axis
            for axis in range(len(nest.axes))
            if _fits(pattern, nest, moves, iterator.name, axis)
        ]
        for iterator in pattern.iterators
    }
    for name in contiguous_iterators(pattern):
        along = [axis for axis in fits[name] if moves[pattern.output][axis] == 1]
        fits[name] = along or fits[name]
    search = _Search(pattern, fits, _twins(pattern, packed), _ranked(nest))
    key = str((fits, search.twins, search.ranked))  # all that it depends on
    if key not in pattern.assignments:
        pattern.assignments[key] = tuple(
            taken
            for taken in islice(search.extend(0, ((),) * len(nest.axes)), MAX_ASSIGNMENTS)
            if not _is_extensible(pattern, fits, taken)
        )
    return [Assignment(taken) for taken in pattern.assignments[key]]


def _is_extensible(
    pattern: KernelPattern, fits: Mapping[str, Sequence[int]], taken: tuple[tuple[str, ...], ...]
) -> bool:
    """Whether an iterator without an axis could have one that is left over."""
    given = {name for names in taken for name in names}
    return any(
        not taken[axis]
        for iterator in pattern.iterators
        if iterator.name not in given
        for axis in fits[iterator.name]
    )


def _fits(
    pattern: KernelPattern,
    nest: StridedNest,
    moves: Mapping[str, Sequence[int]],
    iterator: str,
    axis: int,
) -> bool:
    if nest.axes[axis].is_reduction != (iterator in pattern.reductions):
        return False
    users = pattern.users[iterator]
    return all(operand in users or not strides[axis] for operand, strides in moves.items())


def _ranked(nest: StridedNest) -> tuple[int, ...]:
    """For each axis its place when axes are ordered by their longest stride, longest first."""
    reach = [max(abs(a.strides[axis]) for a in nest.accesses) for axis in range(len(nest.axes))]
    order = sorted(range(len(reach)), key=lambda axis: (-reach[axis], axis))
    return tuple(order.index(axis) for axis in range(len(reach)))


def contiguous_iterators(pattern: KernelPattern) -> list[str]:
    """The iterators along which the kernel demands that the output is contiguous."""
    demanded = pattern.kernel.layout.get(pattern.output, ())
    indices = pattern.normal.target.indices
    return [
        index[0].iterator
        for index, stride in zip(indices, demanded, strict=False)
        if stride == 1 and index[0].iterator is not None
    ]


def _twins(pattern: KernelPattern, packed: Collection[str]) -> Mapping[str, str]:
    """Iterator -> the one before it from which nothing but the name tells it apart.

    Both move the same operands, alone in an index each, where no layout is demanded, and can have the
    same sizes: any (given by the call), those of a tile, or one number.
    """
    found: dict[str, str] = {}
    last: dict[object, str] = {}
    for iterator in pattern.iterators:
        if not _is_plain(pattern, iterator.name, packed):
            continue
        reduces = iterator.name in pattern.reductions
        sizes: object = None
        if not pattern.is_free(iterator.size):
            values = pattern.values(iterator.size)
            sizes = "tile" if 1 in values and not reduces else values
        key = (reduces, pattern.users[iterator.name], sizes)
        if key in last:
            found[iterator.name] = last[key]
        last[key] = iterator.name
    return found


def _is_plain(pattern: KernelPattern, iterator: str, packed: Collection[str]) -> bool:
    for operand in pattern.users[iterator]:
        demanded = pattern.kernel.layout.get(operand)
        for element in pattern.elements[operand]:
            for dimension, index in enumerate(element.indices):
                if not any(term.iterator == iterator for term in index):
                    continue
                if len(index) != 1 or index[0].factors:
                    return False
                if demanded and demanded[dimension] != "*" and operand not in packed:
                    return False
    return True


@dataclass(frozen=True)
class _Search:
    pattern: KernelPattern
    fits: Mapping[str, Sequence[int]]
    twins: Mapping[str, str]
    ranked: tuple[int, ...]

    @cached_property
    def _later(self) -> list[set[int]]:
        """By position: the axes that iterators behind it can take."""
        names = [each.name for each in self.pattern.iterators]
        return [
            {axis for name in names[at + 1 :] for axis in self.fits[name]}
            for at in range(len(names))
        ]

    def extend(
        self, position: int, taken: tuple[tuple[str, ...], ...]
    ) -> Iterator[tuple[tuple[str, ...], ...]]:
        """Every way to give axes to the iterators from `position` on."""
        if position == len(self.pattern.iterators):
            yield taken
            return
        iterator = self.pattern.iterators[position]
        for axis in self.fits[iterator.name]:
            if self._may_take(iterator.name, iterator.size, axis, taken):
                names = (*taken[axis], iterator.name)
                yield from self.extend(position + 1, (*taken[:axis], names, *taken[axis + 1 :]))
        left = not all(
            taken[axis] or axis in self._later[position] for axis in self.fits[iterator.name]
        )
        if left:  # nobody takes an axis that this one could take
            return
        if self._may_be_one(iterator.size) and not self._is_taken(iterator.name, taken):
            yield from self.extend(position + 1, taken)

    def _may_take(
        self, name: str, size: int | str, axis: int, taken: tuple[tuple[str, ...], ...]
    ) -> bool:
        sharing = taken[axis]
        twin = self.twins.get(name)
        if twin is not None and not sharing:
            other = next((a for a, names in enumerate(taken) if twin in names), None)
            if other is not None and self.ranked[other] > self.ranked[axis]:
                return False
        if not sharing:
            return True
        users = self.pattern.users
        # What stands inside must have a size before the axis is cut; outer ones stand first.
        return (
            len(sharing) < MAX_SHARED
            and not self.pattern.is_free(size)
            and users[name] == users[sharing[-1]]
            # Twins on one axis are one of them with a larger tile.
            and self.twins.get(name) != sharing[-1]
        )

    def _is_taken(self, name: str, taken: tuple[tuple[str, ...], ...]) -> bool:
        """Whether the twin before has an axis: of twins, the first go without."""
        twin = self.twins.get(name)
        return twin is not None and any(twin in names for names in taken)

    def _may_be_one(self, size: int | str) -> bool:
        return self.pattern.is_free(size) or 1 in self.pattern.values(size)
