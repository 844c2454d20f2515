"""What a microkernel computes, as data: the grammar of `Microkernel.computes`.

    for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]
    for m in 4, n in 16: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]; C[m, n] = max(C[m, n], 0)

    meaning    = "for" iterators ":" statement { ";" statement }
    statement  = [ "for" iterators ":" ] element operator expression
    operator   = "=" | "+=" | "*=" | "max=" | "min="
    iterators  = NAME "in" size { "," NAME "in" size }
    size       = INTEGER | NAME
    element    = NAME "[" [ index { "," index } ] "]"
    index      = term { ("+" | "-") term }
    term       = factor { "*" factor }          at most one iterator among the factors
    factor     = INTEGER | NAME
    expression = sum with the usual precedence of  + - * /  and unary -
    primary    = NUMBER | element | NAME "(" expression { "," expression } ")" | "(" expression ")"

A name in a size or an index that is not an iterator is a parameter, or a size that the call gives. The
iterators after the first `for` are those of every statement; those of a statement are its own, and run
inside. An iterator that the written element does not use is a reduction.

Functions are those of `FUNCTIONS`, and the dtypes (`f32(x)` casts). Equality of two meanings is
equality of these objects: names count, spaces do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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

FUNCTIONS: Mapping[str, int] = {
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "max": 2,
    "min": 2,
    "neg": 1,
    "abs": 1,
    "exp": 1,
    "log": 1,
    "sqrt": 1,
    "tanh": 1,
    "erf": 1,
    "relu": 1,
}
"""Functions of expressions and their arity; `max`, `min` and `relu` propagate NaN; + is `add` ..."""

COMMUTATIVE = frozenset({"add", "mul", "max", "min"})


@dataclass(frozen=True)
class Iterator:
    """`k in K`: from 0 to size - 1."""

    name: str
    size: Size


@dataclass(frozen=True)
class Term:
    """A product of at most one iterator and any numbers and parameters: `p * SH * 2`."""

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
