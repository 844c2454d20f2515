"""Which elements of each operand a meaning touches, for given sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.meaning import Element, Index, Meaning, element_text, elements


@dataclass(frozen=True)
class Footprint:
    """The box of an operand's elements, and those in it that are touched."""

    shape: tuple[int, ...]
    touched: Array
    """Of `shape`: bool."""

    @property
    def indices(self) -> tuple[Array, ...]:
        """The touched elements' indices, one array for each dimension."""
        return np.nonzero(self.touched)


def footprints(meaning: Meaning) -> dict[str, Footprint]:
    """By operand. `meaning` has no free sizes. Raises InarchError for a negative index."""
    reads: dict[str, list[tuple[Array, ...]]] = {}
    for statement in meaning.statements:
        ranges = {i.name: int(i.size) for i in (*meaning.iterators, *statement.iterators)}
        for element in dict.fromkeys((statement.target, *elements(statement.value))):
            reads.setdefault(element.operand, []).append(_grids(element, ranges))
    return {operand: _footprint(grids) for operand, grids in reads.items()}


def points(meaning: Meaning) -> int:
    """How often the innermost statements are executed. `meaning` has no free sizes."""
    own = math.prod(int(i.size) for i in meaning.iterators)
    return sum(own * math.prod(int(i.size) for i in s.iterators) for s in meaning.statements)


def _grids(element: Element, ranges: Mapping[str, int]) -> tuple[Array, ...]:
    """The indices of `element` over all points of the iterators in them, as arrays that broadcast."""
    used = list(
        dict.fromkeys(
            term.iterator
            for index in element.indices
            for term in index
            if term.iterator is not None
        )
    )
    grids = {
        name: np.arange(ranges[name]).reshape([-1 if i == axis else 1 for i in range(len(used))])
        for axis, name in enumerate(used)
    }
    indices = tuple(_index(index, grids) for index in element.indices)
    low = min((int(index.min()) for index in indices), default=0)
    if low < 0:
        raise InarchError(f"{element_text(element)} reaches {low}: before its operand begins")
    return indices


def _index(index: Index, grids: Mapping[str, Array]) -> Array:
    total = np.asarray(0)
    for term in index:
        factor = math.prod(int(each) for each in term.factors)
        total = total + (factor if term.iterator is None else grids[term.iterator] * factor)
    return total


def _footprint(accesses: list[tuple[Array, ...]]) -> Footprint:
    shape = tuple(
        max(int(index.max()) for index in axis) + 1 for axis in zip(*accesses, strict=True)
    )
    touched = np.zeros(shape, bool)
    for indices in accesses:
        touched[indices] = True
    return Footprint(shape, touched)
