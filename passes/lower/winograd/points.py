"""The matrices of F(m x m, 3 x 3) by its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Matrix = tuple[tuple[Fraction, ...], ...]

WINDOW = 3


@dataclass(frozen=True)
class Winograd:
    """F(m x m, 3 x 3), interpolated at m + 1 points and infinity."""

    m: int
    points: tuple[Fraction, ...]

    @property
    def n(self) -> int:
        """Rows of a tile of x; a tile has (m + 2)^2 products."""
        return self.m + WINDOW - 1

    @property
    def outputs(self) -> Matrix:
        """A^T, [m, n]."""
        return tuple(
            (*(point**i for point in self.points), Fraction(i == self.m - 1)) for i in range(self.m)
        )

    @property
    def weights(self) -> Matrix:
        """G, [n, 3]."""
        rows: list[tuple[Fraction, ...]] = []
        for at, point in enumerate(self.points):
            norm = Fraction(1)
            for other in (*self.points[:at], *self.points[at + 1 :]):
                norm *= point - other
            rows.append(tuple(point**k / norm for k in range(WINDOW)))
        return (*rows, (Fraction(0),) * (WINDOW - 1) + (Fraction(1),))

    @property
    def inputs(self) -> Matrix:
        """B^T, [n, n]: products of x - point, without one of them each."""
        rows = [
            (*_product((*self.points[:at], *self.points[at + 1 :])), Fraction(0))
            for at in range(len(self.points))
        ]
        return (*rows, tuple(_product(self.points)))


def _product(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the product of x - root, the lowest first."""
    found = [Fraction(1)]
    for root in roots:
        found = [
            a - root * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)
        ]
    return found
