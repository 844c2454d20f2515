"""Cutting axes into the points of calls: full tiles, then tiles of exactly what remains.

An axis that iterators `(v, l)` take runs as `v * size(l) + l`. Its first cut is as many full tiles as fit;
what remains gets members of the family whose size is exactly that, the largest first. Where the family has
none (parallel axes only), the last tile begins earlier and does points of the one before once more, if that
may be; else it runs over the edge, on padded copies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inarch.core.once import cached_property
from inarch.passes.tensorize.unify.iterators import Assignment
from inarch.passes.tensorize.unify.pattern import KernelPattern
from inarch.passes.tensorize.unify.strided import Axis, StridedNest

Params = Mapping[str, int]


@dataclass(frozen=True)
class Cut:
    """`count` tiles of `block` points of an axis, from point `start` on."""

    start: int
    block: int
    count: int
    sizes: Mapping[str, int]
    """The iterators that take the axis, outermost first -> their sizes; their product is `block`."""
    params: Params
    """Parameters that this cut has its own values of."""
    overrun: int = 0
    """Points of the last tile beyond the end of the axis."""
    overlap: int = 0
    """Points of the tile that the cut before does too."""


@dataclass(frozen=True)
class Piece:
    """A part of a nest that one `kernel.call` does: a cut of each axis, and the member for it."""

    params: Params
    cuts: tuple[Cut, ...]
    """By axis. One that no iterator takes has `size` tiles of one point."""

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Iterator of the meaning -> its size, where it is taken."""
        return {name: size for cut in self.cuts for name, size in cut.sizes.items()}

    @property
    def overruns(self) -> bool:
        """Whether some tile runs over the edge."""
        return any(cut.overrun for cut in self.cuts)

    @property
    def overlaps(self) -> bool:
        """Whether another piece does some of the points too."""
        return any(cut.overlap for cut in self.cuts)

    @property
    def calls(self) -> int:
        """How often the kernel is called."""
        return math.prod(cut.count for cut in self.cuts)


@dataclass
class Cutter:
    """Cuts a nest, whose axes are assigned, for the members of a family."""

    pattern: KernelPattern
    is_member: Callable[[Params], bool]
    allowed: Callable[[str, Params], Sequence[int]]
    """The values of a parameter beside others, the largest first."""
    nest: StridedNest
    assignment: Assignment
    may_repeat: bool = False
    """Whether a point may be done twice by calls that do whole reductions."""
    _sizes: dict[str, int | str] = field(default_factory=dict[str, int | str])
    _axes: list[tuple[Axis, tuple[str, ...], str | None, tuple[int | str, ...]]] = field(
        default_factory=list[tuple[Axis, tuple[str, ...], str | None, tuple[int | str, ...]]]
    )
    """With the iterators that take each, the parameter that cuts it, and their sizes."""
    _whole: list[tuple[str, frozenset[int], str]] = field(
        default_factory=list[tuple[str, frozenset[int], str]]
    )
    _cuts: dict[object, list[Cut] | str] = field(default_factory=dict[object, list[Cut] | str])

    def __post_init__(self) -> None:
        self._sizes = {each.name: each.size for each in self.pattern.iterators}
        self._axes = [
            (axis, names, self._own_parameter(names), tuple(self._sizes[name] for name in names))
            for axis, names in zip(self.nest.axes, self.assignment.taken, strict=True)
        ]
        self._whole = list(self._whole_tiles())

    def _whole_tiles(self) -> Iterator[tuple[str, frozenset[int], str]]:
        """Parameters and the values that alone make a cut possible; of the others nothing is known yet."""
        for name, size in self._sizes.items():
            if not isinstance(size, str) or self.pattern.is_free(size):
                continue
            number, values = self.assignment.axis_of(name), self.pattern.values(size)
            if number is None:
                yield size, frozenset({1}), f"no iterator of the nest for {name} in {size}"
                continue
            axis = self.nest.axes[number]
            if axis.is_reduction and 1 not in values:
                several = len(values) > 1  # what remains may be cut into smaller ones
                fits = frozenset(
                    v for v in values if v <= axis.size and (several or axis.size % v == 0)
                )
                yield size, fits, _not_whole(axis, size)

    @cached_property
    def possible(self) -> dict[str, frozenset[int]]:
        """Parameter -> the values that alone make a cut possible: members with others are not worth a try."""
        found = {name: values for name, values, _ in self._whole}
        for axis, names in zip(self.nest.axes, self.assignment.taken, strict=True):
            size = self._sizes[names[-1]] if names else 0
            if not isinstance(size, str) or self.pattern.is_free(size):
                continue
            values = found.get(size, frozenset(self.pattern.values(size)))
            if len(names) == 1:
                found[size] = frozenset(v for v in values if _is_cut(axis, v, values))
            elif axis.is_reduction and self.pattern.is_free(self._sizes[names[0]]):
                found[size] = frozenset(v for v in values if axis.size % v == 0)
        return found

    def cut(self, params: Params) -> list[Piece] | str:
        """The pieces by the member `params` and its smaller relatives; a reason where it is not cut."""
        for parameter, possible, reason in self._whole:
            if params[parameter] not in possible:
                return reason
        by_axis: dict[int, list[Cut]] = {}
        may_repeat = self.may_repeat
        for number in self._reductions_first:
            axis, names, own, wanted = self._axes[number]
            sizes = tuple([params.get(s, 0) if isinstance(s, str) else s for s in wanted])
            block = math.prod(sizes)
            values: Sequence[int] = ()
            if own is not None and axis.size % block:
                values = self.allowed(own, params)
            key = number, sizes, tuple(values), may_repeat
            cuts = self._cuts.get(key)
            if cuts is None:
                cuts = self._cut_axis(axis, names, params, own, values, may_repeat)
                self._cuts[key] = cuts
            if isinstance(cuts, str):
                return cuts
            by_axis[number] = cuts
            if axis.is_reduction and sum(cut.count for cut in cuts) > 1:
                may_repeat = False  # several calls add to one element
        pieces: list[tuple[Cut, ...]] = [()]
        for number in range(len(self._axes)):
            pieces = [(*piece, cut) for piece in pieces for cut in by_axis[number]]
        found = [Piece(_merged(params, cuts), cuts) for cuts in pieces]
        if len(found) > 1 and not all(self.is_member(piece.params) for piece in found):
            return "a remainder of two axes at once has no member"
        return found

    @cached_property
    def _reductions_first(self) -> list[int]:
        numbers = range(len(self._axes))
        return sorted(numbers, key=lambda number: not self._axes[number][0].is_reduction)

    def _cut_axis(
        self,
        axis: Axis,
        names: tuple[str, ...],
        params: Params,
        own: str | None,
        values: Sequence[int],
        may_repeat: bool,
    ) -> list[Cut] | str:
        """The cuts of one axis; remainders may choose the parameter `own` among `values`."""
        if not names:
            return [Cut(0, 1, axis.size, {}, {})]
        inner = {name: _number(self._sizes[name], params) for name in names[1:]}
        lanes = math.prod(inner.values())
        outer = self._sizes[names[0]]
        if self.pattern.is_free(outer):
            tiles, rest = divmod(axis.size, lanes)
            if rest and axis.is_reduction:
                return _not_whole(axis, lanes)
            if rest and tiles and may_repeat:
                whole = _tile(axis, 0, None, tiles, {names[0]: tiles, **inner})
                return [whole, _repeating(axis, tiles * lanes, None, 1, {names[0]: 1, **inner})]
            units = tiles + bool(rest)
            return [_tile(axis, 0, None, units, {names[0]: units, **inner})]
        full = _number(outer, params)
        block = full * lanes
        values = values or (full,)
        if any(v < full and v * lanes >= axis.size for v in values):
            return f"a tile of {block} is larger than the {axis.size} points of {axis.name}"
        count = axis.size // block
        cuts = [Cut(0, block, count, {names[0]: full, **inner}, {})] if count else []
        start = count * block
        while start < axis.size:
            rest = axis.size - start
            exact = [] if rest % lanes or own is None else [v for v in values if v * lanes <= rest]
            if exact:
                units = exact[0]
            elif axis.is_reduction:
                return _not_whole(axis, block)
            else:
                units = min((v for v in values if v * lanes >= rest), default=full)
                if may_repeat and units * lanes <= axis.size:
                    sizes = {names[0]: units, **inner}
                    return [*cuts, _repeating(axis, start, own, units, sizes)]
            cuts.append(_tile(axis, start, own, units, {names[0]: units, **inner}))
            start += units * lanes
        return cuts

    def _own_parameter(self, names: tuple[str, ...]) -> str | None:
        """The parameter that is the size of the outermost iterator of an axis, and of no other one."""
        if not names:
            return None
        size = self._sizes[names[0]]
        if not isinstance(size, str) or self.pattern.is_free(size):
            return None
        taken = [name for each in self.assignment.taken for name in each]
        return size if sum(self._sizes[name] == size for name in taken) == 1 else None


def _is_cut(axis: Axis, tile: int, values: Collection[int]) -> bool:
    """Whether tiles of this size, and of smaller ones among `values`, can be right for the axis."""
    if not axis.is_reduction or tile > axis.size:
        return tile <= axis.size or (not axis.is_reduction and tile == min(values))
    rest = axis.size % tile
    for smaller in sorted((v for v in values if v < tile), reverse=True):
        rest %= smaller
    return rest == 0


def _merged(params: Params, cuts: Sequence[Cut]) -> Params:
    own = [cut.params for cut in cuts if cut.params]
    if not own:
        return params
    merged = dict(params)
    for each in own:
        merged.update(each)
    return merged


def _tile(axis: Axis, start: int, own: str | None, units: int, sizes: Mapping[str, int]) -> Cut:
    """One tile of `units` of the outermost iterator, which may run over the end of the axis."""
    block = math.prod(sizes.values())
    chosen = {own: units} if own is not None else {}
    return Cut(start, block, 1, sizes, chosen, max(0, start + block - axis.size))


def _repeating(axis: Axis, done: int, own: str | None, units: int, sizes: Mapping[str, int]) -> Cut:
    """The tile that ends with the axis, of which the points before `done` are done already."""
    block = math.prod(sizes.values())
    start = axis.size - block
    return Cut(start, block, 1, sizes, {own: units} if own is not None else {}, 0, done - start)


def _not_whole(axis: Axis, tile: int | str) -> str:
    return (
        f"{axis.size} points of {axis.name} are not whole tiles of {tile}; a member for what "
        "remains, or a size that the call gives, would take them"
    )


def _number(size: int | str, params: Params) -> int:
    return params[size] if isinstance(size, str) else size
