"""Classes of iterators: which parts of nests go together.

A *class* is one iterator of each nest, all of one size and parallel, such that every buffer that one of them
writes and another one touches is indexed by it, alone in its dimension. A loop over a class then runs them
all for a part of it: what an iteration reads of such a buffer, the same iteration has written, and no other
one touches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from inarch.dialects.loop.buffer import root
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, linear_map


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


def operands_of(nest: NestOp) -> tuple[Operand, ...]:
    """What a nest reads, then what it writes."""
    reads = zip(nest.ins, nest.reads, strict=True)
    writes = zip(nest.outs, nest.writes, strict=True)
    return (
        *(Operand(v, linear_map(r.map.data), r.is_padded) for v, r in reads),
        *(Operand(v, linear_map(w.map.data), w.clips) for v, w in writes),
    )


@dataclass(frozen=True)
class _Class:
    iterators: tuple[int, ...]
    """Of each nest."""
    size: int
    """Of each of them; 0: of any."""
    axes: Mapping[SSAValue, int]
    """Of each buffer that one of the nests writes: the dimension that the class indexes."""


class Classes:
    """Those of a group of nests, which grows."""

    def __init__(self, nest: NestOp, operands: Sequence[Operand]) -> None:
        self._touched: dict[SSAValue, list[tuple[int, Operand]]] = {}
        """Buffer, as a `root` -> the places of the nests that touch it, and how."""
        self._written: set[SSAValue] = set()
        self._nests = 0
        ways = [(_Class((), 0, {}), at) for at in range(len(nest.sizes))]
        self._found = self._extended(ways, nest, operands)

    @property
    def found(self) -> tuple[tuple[int, ...], ...]:
        """Of each class its iterator in each nest, in the order of the last nest's iterators."""
        return tuple(one.iterators for one in self._found)

    def grow(self, nest: NestOp, operands: Sequence[Operand]) -> None:
        """One more nest, which reads what the others write: each class goes on with its iterator, or ends."""
        ways = [(one, at) for one in self._found if (at := _indexed(one, operands)) is not None]
        self._found = self._extended(sorted(ways, key=lambda way: way[1]), nest, operands)

    def _extended(
        self, ways: Sequence[tuple[_Class, int]], nest: NestOp, operands: Sequence[Operand]
    ) -> list[_Class]:
        """Those of the classes that hold with that iterator of the nest, which is one of the group then."""
        for operand in operands:
            self._touched.setdefault(root(operand.value), []).append((self._nests, operand))
        outs = {root(out) for out in nest.outs}
        # Of what was written before, earlier nests have been looked at: those of what is now are left.
        touches = [touch for out in outs - self._written for touch in self._touched[out]]
        touches += [(self._nests, one) for one in operands if root(one.value) in self._written]
        self._written |= outs
        self._nests += 1
        for buffer in {root(operand.value) for _, operand in touches}:
            if len({operand.value for _, operand in self._touched[buffer]}) > 1:
                return []  # through a view, which has other dimensions
        found = [
            _Class((*one.iterators, at), nest.sizes[at], one.axes)
            for one, at in ways
            if one.size in (0, nest.sizes[at])
            and _is_cut(nest, at)
            and fits(operands, at, nest.sizes[at])
        ]
        return [wider for one in found if (wider := _with(one, touches)) is not None]


def _indexed(one: _Class, operands: Sequence[Operand]) -> int | None:
    """The iterator that indexes the class's dimension of something that the nests before write."""
    known = (operand for operand in operands if operand.value in one.axes)
    found = next(known, None)  # None: all are touched through views
    return None if found is None else found.index[one.axes[found.value]].lone_iterator


def _with(one: _Class, touches: Sequence[tuple[int, Operand]]) -> _Class | None:
    """The class with the dimensions of more buffers; None where a touch does not go by it."""
    axes = dict(one.axes)
    for position, operand in touches:
        axis = operand.dimension_of(one.iterators[position])
        if axis is None or axes.setdefault(operand.value, axis) != axis:
            return None
    return replace(one, axes=axes)


def _is_cut(nest: NestOp, at: int) -> bool:
    """Whether the iterator has parts, in any order."""
    return nest.sizes[at] > 1 and not nest.iterators.data[at].is_reduction


def fits(operands: Sequence[Operand], at: int, size: int) -> bool:
    """Whether a part of the iterator is a box of each operand that begins where the class says."""
    return all(
        all(form.coefficients[at] >= 0 for form in operand.index)
        and (not operand.is_guarded or not operand.uses(at) or _is_inside(operand, at, size))
        for operand in operands
    )


def _is_inside(operand: Operand, at: int, size: int) -> bool:
    """Whether the iterator is alone in its dimension of a guarded operand, and never outside of it.

    Elsewhere what is outside of the buffer would be outside of the part, or the part outside of the buffer.
    """
    axis = operand.dimension_of(at)
    return axis is not None and size <= buffer_shape(operand.value)[axis]
