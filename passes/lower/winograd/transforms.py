"""Transforms of tiles, as scalar ops: what rows or columns of a matrix share is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from inarch.dialects.scalar import Scalar, constant
from inarch.passes.lower.winograd.points import Matrix

Grid = list[list[Scalar | None]]


def both(matrix: Matrix, grid: Grid, wanted: tuple[int, int] | None = None) -> Grid:
    """The first rows and columns of `matrix grid matrix^T`; None is 0."""
    height, width = wanted or (len(matrix), len(matrix))
    columns = list(zip(*grid, strict=True))
    numbers = _Numbers()
    half = list(zip(*(_times(matrix[:height], column, numbers) for column in columns), strict=True))
    return [_times(matrix[:width], line, numbers) for line in half]


@dataclass
class _Numbers:
    """The constants of a map's body, each made once."""

    known: dict[Fraction, Scalar] = field(default_factory=dict[Fraction, Scalar])

    def of(self, number: Fraction, like: Scalar) -> Scalar:
        """It as an element of that dtype: exact in f32, but for some of G."""
        if number not in self.known:
            self.known[number] = constant(float(number), like.dtype, like.block)
        return self.known[number]


def _times(
    matrix: Matrix, values: Sequence[Scalar | None], numbers: _Numbers
) -> list[Scalar | None]:
    """`matrix values`. Points p and -p give rows, or columns, that differ in signs only.

    Their common sums are computed once.
    """
    rows, values = _folded([list(row) for row in matrix], list(values))
    found: dict[int, Scalar | None] = {}
    for a, b in combinations(range(len(rows)), 2):
        even = [(x + y) / 2 for x, y in zip(rows[a], rows[b], strict=True)]
        odd = [(x - y) / 2 for x, y in zip(rows[a], rows[b], strict=True)]
        terms = [sum(map(bool, part)) for part in (even, odd)]
        is_apart = not any(x and y for x, y in zip(even, odd, strict=True))
        if {a, b} & found.keys() or not is_apart or min(terms) == 0 or max(terms) == 1:
            continue
        e, o = _dot(even, values, numbers), _dot(odd, values, numbers)
        if e is not None and o is not None:
            found[a], found[b] = e + o, e - o
    return [found[at] if at in found else _dot(row, values, numbers) for at, row in enumerate(rows)]


def _folded(
    rows: list[list[Fraction]], values: list[Scalar | None]
) -> tuple[list[list[Fraction]], list[Scalar | None]]:
    """For two columns that differ in signs only: the sum and the difference of their factors."""
    for j, k in combinations(range(len(values)), 2):
        pairs = [(row[j], row[k]) for row in rows]
        one, other = values[j], values[k]
        sums = sum(x == y != 0 for x, y in pairs)
        differences = sum(x == -y != 0 for x, y in pairs)
        is_alike = all(abs(x) == abs(y) for x, y in pairs)
        if not is_alike or one is None or other is None or max(sums, differences) < 2:
            continue
        values[j] = one + other if sums else None
        values[k] = one - other if differences else None
        for row, (x, y) in zip(rows, pairs, strict=True):
            row[j], row[k] = (x, Fraction(0)) if x == y else (Fraction(0), x)
    return rows, values


def _dot(
    row: Sequence[Fraction], values: Sequence[Scalar | None], numbers: _Numbers
) -> Scalar | None:
    """The sum of products `row * values`. Positive terms come first, which saves a negation."""
    terms = [(k, v) for k, v in zip(row, values, strict=True) if k and v is not None]
    terms.sort(key=lambda term: term[0] < 0)
    total: Scalar | None = None
    for k, value in terms:
        scaled = value if abs(k) == 1 else value * numbers.of(abs(k), value)
        if total is None:
            total = scaled if k > 0 else -scaled
        else:
            total = total + scaled if k > 0 else total - scaled
    return total


def flat(grid: Grid, zero: Scalar) -> list[Scalar]:
    """Row after row, with `zero` for None."""
    return [zero if one is None else one for row in grid for one in row]
