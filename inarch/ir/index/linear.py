"""Linear index expressions as numbers: coefficients over the iterators, and a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.ir.index.affine import linear_form


@dataclass(frozen=True)
class Linear:
    """`sum(coefficients[i] * iterator i) + constant`."""

    coefficients: tuple[int, ...]
    constant: int

    @classmethod
    def of(cls, expr: AffineExpr, count: int) -> Linear:
        """`expr` over `count` dims. Raises InarchError when it is not linear."""
        coefficients, constant = linear_form(expr, count)
        return cls(tuple(coefficients), constant)

    @classmethod
    def iterator(cls, position: int, count: int) -> Linear:
        """Iterator `position` of `count`."""
        return cls(tuple(int(i == position) for i in range(count)), 0)

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at every point."""
        return not any(self.coefficients)

    @property
    def lone_iterator(self) -> int | None:
        """The position of the iterator that it is, with nothing added; None when it is not one."""
        used = [i for i, c in enumerate(self.coefficients) if c]
        is_lone = len(used) == 1 and self.coefficients[used[0]] == 1 and self.constant == 0
        return used[0] if is_lone else None

    def plus(self, other: Linear) -> Linear:
        """The sum, over the same iterators."""
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Linear(tuple(a + b for a, b in pairs), self.constant + other.constant)

    def times(self, factor: int) -> Linear:
        """A multiple."""
        return Linear(tuple(c * factor for c in self.coefficients), self.constant * factor)

    def substitute(self, iterators: Sequence[Linear], count: int) -> Linear:
        """The same where iterator `i` is `iterators[i]` over `count` other ones."""
        total = Linear((0,) * count, self.constant)
        for coefficient, value in zip(self.coefficients, iterators, strict=True):
            if coefficient:
                total = total.plus(value.times(coefficient))
        return total

    def bounds(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The least and the largest value over iterators of `sizes`, each at least 1."""
        spans = [c * (n - 1) for c, n in zip(self.coefficients, sizes, strict=True)]
        low = self.constant + sum(min(span, 0) for span in spans)
        return low, self.constant + sum(max(span, 0) for span in spans)

    def expression(self) -> AffineExpr:
        """The affine expression with one term an iterator."""
        total: AffineExpr | None = None
        for position, coefficient in enumerate(self.coefficients):
            if coefficient:
                term = AffineExpr.dimension(position)
                term = term if coefficient == 1 else term * coefficient
                total = term if total is None else total + term
        if total is None:
            return AffineExpr.constant(self.constant)
        return total + self.constant if self.constant else total


@lru_cache(maxsize=1024)  # a program has few different maps, and asks at each use
def linear_map(index: AffineMap) -> tuple[Linear, ...]:
    """The results of a map. Raises InarchError when one is not linear."""
    return tuple(Linear.of(expr, index.num_dims) for expr in index.results)


def affine_map(results: Sequence[Linear], count: int) -> AffineMap:
    """The map of `results` over `count` iterators."""
    return AffineMap(count, 0, tuple(result.expression() for result in results))
