"""What a meaning gives, by NumPy alone and all points at once: the oracle of what runs its IR or its C."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import Array
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.meaning import (
    OPERATORS,
    Apply,
    Element,
    Expression,
    Index,
    Meaning,
    Number,
    Statement,
    bind,
    written,
)


def evaluate(
    meaning: Meaning,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    *,
    exact: bool = False,
) -> Array:
    """The written operand after the statements. `exact`: of floats of twice the bits, and returned so."""
    bound = bind(meaning, sizes or {})
    known = {name: array.astype(_kind(array.dtype, exact=exact)) for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        for statement in bound.statements:
            _Statement(bound, statement, known, exact=exact).run()
    return known[written(bound)]


def _kind(dtype: np.dtype, *, exact: bool) -> np.dtype:
    if not exact or dtype.kind != "f":
        return dtype
    return np.dtype(np.longdouble if dtype.itemsize >= 8 else np.float64)


class _Statement:
    """Axis i of every array is iterator i: those of the target, then those that are reduced."""

    def __init__(
        self, meaning: Meaning, statement: Statement, arrays: dict[str, Array], *, exact: bool
    ) -> None:
        self.statement, self.arrays, self.exact = statement, arrays, exact
        extents = {i.name: int(i.size) for i in (*meaning.iterators, *statement.iterators)}
        self.used = [str(index[0].iterator) for index in statement.target.indices]
        names = [*self.used, *(name for name in extents if name not in self.used)]
        self.shape = tuple(extents[name] for name in names)
        self.grids = dict(zip(names, np.ogrid[tuple(slice(n) for n in self.shape)], strict=True))

    def run(self) -> None:
        array = self.arrays[self.statement.target.operand]
        rank, operator = len(self.used), OPERATORS[self.statement.operator]
        if 0 in self.shape:
            return
        value = np.broadcast_to(self.value(self.statement.value, array.dtype), self.shape)
        place = array[(*(slice(n) for n in self.shape[:rank]), ...)]  # a view, of a scalar too
        if operator is not None:
            combine: np.ufunc = getattr(np, str(OF_MEANINGS[operator].numpy))
            axes = tuple(range(rank, len(self.shape)))
            value = combine(place, combine.reduce(value, axis=axes, dtype=array.dtype))
        place[...] = value

    def value(self, expression: Expression, dtype: np.dtype) -> Array:
        match expression:
            case Number():
                return np.asarray(expression.value).astype(dtype)
            case Element():
                places = tuple(self.index(index) for index in expression.indices)
                return self.arrays[expression.operand][places]
            case Apply(function=function) if function in DTYPES:
                return self.cast(self.value(expression.arguments[0], dtype), function)
            case Apply():
                kind = self.dtype(expression) or dtype
                parts = [self.value(part, kind) for part in expression.arguments]
                return OF_MEANINGS[expression.function].compute(*parts).astype(kind, copy=False)

    def dtype(self, expression: Expression) -> np.dtype | None:
        """Of what is in an expression, which numbers in it take; None of numbers alone."""
        match expression:
            case Number():
                return None
            case Element():
                return self.arrays[expression.operand].dtype
            case Apply(function=function) if function in DTYPES:
                return _kind(np.dtype(DTYPES[function].numpy), exact=self.exact)
            case Apply():
                kinds = map(self.dtype, expression.arguments)
                return next((kind for kind in kinds if kind is not None), None)

    def cast(self, value: Array, name: str) -> Array:
        """A float saturates as an integer, and NaN is 0."""
        dtype = _kind(np.dtype(DTYPES[name].numpy), exact=self.exact)
        if value.dtype.kind != "f" or dtype.kind not in "iu":
            return value.astype(dtype)
        limits = np.iinfo(dtype)
        low, high = value <= float(limits.min), value >= float(limits.max)
        inside = np.where(low | high | np.isnan(value), 0, value).astype(dtype)
        return np.where(low, limits.min, np.where(high, limits.max, inside)).astype(dtype)

    def index(self, index: Index) -> Array:
        terms = (
            math.prod(map(int, term.factors)) * (self.grids[term.iterator] if term.iterator else 1)
            for term in index
        )
        return np.asarray(sum(terms))
