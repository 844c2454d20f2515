"""The syntax tree of meanings: frozen data, equal when what it says is equal. `inarch.meaning` is the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inarch.core.dtypes import DTYPES

Size = int | str
"""A number, or the name of a parameter or of a size that is known at the call only."""

OPERATORS: Mapping[str, str | None] = {
    "=": None,
    "+=": "add",
    "*=": "mul",
    "max=": "max",
    "min=": "min",
}
"""Assignments, and the function that combines the old element with the value."""


@dataclass(frozen=True)
class Iterator:
    """`k in K`: from 0 to size - 1."""

    name: str
    size: Size


@dataclass(frozen=True)
class Term:
    """A product of at most one iterator and any numbers and parameters: `p * SH * 2`.

    Made by `index_of`, which puts the names first and one number, if it is not 1, last.
    """

    factors: tuple[Size, ...]
    iterator: str | None


Index = tuple[Term, ...]
"""A sum of terms; the empty sum is 0."""


@dataclass(frozen=True)
class Number:
    """A literal."""

    value: float


@dataclass(frozen=True)
class Element:
    """`A[m, k]`."""

    operand: str
    indices: tuple[Index, ...]


@dataclass(frozen=True)
class Apply:
    """A function of `FUNCTIONS`, or a cast (the dtype's name), of expressions."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Number | Element | Apply


@dataclass(frozen=True)
class Statement:
    """`for iterators: target operator value`, for every point of the meaning's own iterators."""

    iterators: tuple[Iterator, ...]
    target: Element
    operator: str
    value: Expression


@dataclass(frozen=True)
class Meaning:
    """A loop nest: for each point of `iterators`, the statements in order."""

    iterators: tuple[Iterator, ...]
    statements: tuple[Statement, ...]


def applications(value: Expression) -> int:
    """How often it applies a function to numbers; a cast is none."""
    if not isinstance(value, Apply):
        return 0
    return (value.function not in DTYPES) + sum(map(applications, value.arguments))


def index_of(terms: Iterable[Term]) -> Index:
    """The sum of `terms` in its one form: numbers folded, like terms added, zeros dropped."""
    numbers: dict[tuple[tuple[str, ...], str | None], int] = {}
    for term in terms:
        number = 1
        for factor in term.factors:
            number *= factor if isinstance(factor, int) else 1
        names = tuple(sorted(factor for factor in term.factors if isinstance(factor, str)))
        numbers[names, term.iterator] = numbers.get((names, term.iterator), 0) + number
    return tuple(
        Term(names if number == 1 else (*names, number), iterator)
        for (names, iterator), number in numbers.items()
        if number
    )
