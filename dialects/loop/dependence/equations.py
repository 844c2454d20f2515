"""Linear equations in integers between bounds: no solution, one, or too long a search. Exact.

Bounds are narrowed and equations split until nothing moves, then a range is halved, and both halves are
searched. An equation is split where the terms that are multiples of a step m can only have one value: with
`j` and `k` between -7 and 7, `64 i + 8 j + k = 0` is `k = 0`, `j = 0` and `i = 0` (a number has one form
of mixed radix); and it has no solution where the other terms have no multiple of m between their bounds, or
where the greatest common divisor of all does not divide the constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TypeAlias

MOST_HALVINGS = 400
"""Of ranges, in one search; a loop's independence that needs more is one that is not seen."""

_ROUNDS = 20
"""Of narrowing, in which bounds could otherwise creep for as long as an interval is wide."""

Terms: TypeAlias = tuple[tuple[int, int], ...]
Range: TypeAlias = tuple[int, int]
"""The least and the largest value."""


@dataclass(frozen=True)
class Equation:
    """`sum of factor * x[position] + constant = 0`, over the terms `(position, factor)`; no factor is 0."""

    terms: Terms
    constant: int


@dataclass(frozen=True)
class Found:
    """The values of the first unknowns in a solution; None where the search was given up."""

    values: tuple[int, ...] | None


def solve(equations: Sequence[Equation], ranges: Sequence[Range], keep: int = 0) -> Found | None:
    """A solution between the bounds, of which the first `keep` values are told; None: there is none.

    >>> solve([Equation(((0, 8), (1, 1)), 0)], [(1, 9), (-7, 7)])  # 8 x + y = 0
    >>> solve([Equation(((0, 8), (1, 1)), 0)], [(1, 9), (-8, 7)], keep=1)
    Found(values=(1,))
    """
    if any(low > high for low, high in ranges):
        return None
    merged, bounds = _merged(equations, ranges, keep)
    found = _Search(MOST_HALVINGS).run(merged, bounds)
    if found is None or found.values is None:
        return found
    return Found(found.values[:keep])


def _merged(
    equations: Sequence[Equation], ranges: Sequence[Range], keep: int
) -> tuple[list[Equation], list[Range]]:
    """The same with one unknown for the sum, or the difference, of those that only occur as that."""
    columns: dict[int, list[tuple[int, int]]] = {}
    for number, equation in enumerate(equations):
        for position, factor in equation.terms:
            columns.setdefault(position, []).append((number, factor))
    bounds = [*ranges[:keep]]
    terms: list[list[tuple[int, int]]] = [[] for _ in equations]
    known: dict[tuple[tuple[int, int], ...], int] = {}
    for position, column in sorted(columns.items()):
        sign = 1 if position < keep or column[0][1] > 0 else -1
        key = tuple((number, sign * factor) for number, factor in column)
        low, high = sorted(sign * end for end in ranges[position])
        if position >= keep and key in known:
            old_low, old_high = bounds[known[key]]
            bounds[known[key]] = old_low + low, old_high + high
            continue
        new = position
        if position >= keep:
            new = known[key] = len(bounds)
            bounds.append((low, high))
        for number, factor in key:
            terms[number].append((new, factor))
    pairs = zip(equations, terms, strict=True)
    return [replace(equation, terms=tuple(own)) for equation, own in pairs], bounds


class _Search:
    def __init__(self, halvings: int) -> None:
        self._left = halvings

    def run(self, equations: Sequence[Equation], ranges: Sequence[Range]) -> Found | None:
        bounds = [*ranges]
        left = _narrowed(equations, bounds)
        if left is None:
            return None
        if not left:
            return Found(tuple(low for low, _ in bounds))
        if self._left == 0:
            return Found(None)
        self._left -= 1
        unknowns = sorted({position for equation in left for position, _ in equation.terms})
        chosen = min(unknowns, key=lambda position: bounds[position][1] - bounds[position][0])
        low, high = bounds[chosen]
        middle = (low + high) // 2
        given_up: Found | None = None
        for half in ((low, middle), (middle + 1, high)):
            bounds[chosen] = half
            found = self.run(left, bounds)
            if found is not None and found.values is not None:
                return found
            given_up = found or given_up
        return given_up


def _narrowed(equations: Sequence[Equation], bounds: list[Range]) -> list[Equation] | None:
    """What is left of the equations when `bounds` are narrowed; None where they have no solution."""
    left = [*equations]
    for _ in range(_ROUNDS):
        before = left, [*bounds]
        parts = [_parts(_folded(equation, bounds), bounds) for equation in left]
        left = [equation for each in parts if each is not None for equation in each]
        if None in parts or not all(_tighten(equation, bounds) for equation in left):
            return None
        if before == (left, bounds):
            break
    left = [_folded(equation, bounds) for equation in left]
    if any(not equation.terms and equation.constant for equation in left):
        return None
    return [equation for equation in left if equation.terms]


def _folded(equation: Equation, bounds: Sequence[Range]) -> Equation:
    """With the unknowns that have one value in the constant."""
    free: list[tuple[int, int]] = []
    constant = equation.constant
    for position, factor in equation.terms:
        low, high = bounds[position]
        if low == high:
            constant += factor * low
        else:
            free.append((position, factor))
    return Equation(tuple(free), constant)


def _parts(equation: Equation, bounds: Sequence[Range]) -> list[Equation] | None:
    """The equations that it is, by one step of the mixed radix; None where it has no solution."""
    if not equation.terms:
        return None if equation.constant else []
    divisor = gcd(*(factor for _, factor in equation.terms))
    if equation.constant % divisor:
        return None
    terms = tuple((position, factor // divisor) for position, factor in equation.terms)
    constant = equation.constant // divisor
    for step in sorted({abs(factor) for _, factor in terms} - {1}):
        rest = tuple(term for term in terms if term[1] % step)
        low, high = _span(rest, constant, bounds)
        first, last = -(-low // step), high // step
        if first > last:
            return None
        if first == last:
            many = tuple(term for term in terms if term[1] % step == 0)
            return [Equation(rest, constant - first * step), Equation(many, first * step)]
    return [Equation(terms, constant)]


def _span(terms: Iterable[tuple[int, int]], constant: int, bounds: Sequence[Range]) -> Range:
    """The least and the largest value of a sum."""
    low = high = constant
    for position, factor in terms:
        ends = sorted(factor * end for end in bounds[position])
        low, high = low + ends[0], high + ends[1]
    return low, high


def _tighten(equation: Equation, bounds: list[Range]) -> bool:
    """Narrows the bounds of each unknown by those of the others; False where nothing is between them."""
    low, high = _span(equation.terms, equation.constant, bounds)
    if low > 0 or high < 0:
        return False
    for position, factor in equation.terms:
        least, most = bounds[position]
        own = sorted((factor * least, factor * most))
        # factor * x is what the others leave: from -(high of them) to -(low of them).
        ends = own[1] - high, own[0] - low
        if factor < 0:
            ends = -ends[1], -ends[0]
        least = max(least, -(-ends[0] // abs(factor)))
        most = min(most, ends[1] // abs(factor))
        if least > most:
            return False
        bounds[position] = least, most
    return True
