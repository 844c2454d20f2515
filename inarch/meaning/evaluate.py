"""Executes a meaning on NumPy arrays: the value that a microkernel must give.

Independent of any C. A statement is computed for all its points at once, on grids of indices, in
pieces of at most `_POINTS` points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.meaning import (
    OPERATORS,
    Apply,
    Element,
    Expression,
    Index,
    Iterator,
    Meaning,
    Number,
    Statement,
    bind,
    element_text,
    free_sizes,
    operands,
    ranks,
    written,
)

_POINTS = 1 << 22

_Ranges = dict[str, tuple[int, int]]
"""Iterator -> the half-open range of its values in a piece."""


def evaluate(
    meaning: Meaning,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    *,
    exact: bool = False,
) -> Array:
    """The written operand after the statements; `arrays` are not changed.

    `arrays` has every operand, the written one with what it held before; sizes of dimensions may be
    larger than the iterators reach. A statement without points (a size of 0) changes nothing.
    Arithmetic is that of the arrays' dtypes: integers wrap, an integer divided by 0 is 0, max, min and
    relu propagate NaN. `exact`: floats are computed in float64 (float64 in longdouble), and returned so.

    Raises InarchError for a missing operand or size, a wrong rank, or an index out of bounds.
    """
    bound = bind(meaning, sizes or {})
    _check(bound, arrays)
    wide = {name: _widened(array) if exact else array for name, array in arrays.items()}
    target = written(bound)
    wide[target] = np.array(wide[target])
    with np.errstate(all="ignore"):
        for statement in bound.statements:
            _run(statement, bound.iterators, wide, exact=exact)
    return wide[target]


def _check(meaning: Meaning, arrays: Mapping[str, Array]) -> None:
    if free := free_sizes(meaning):
        raise InarchError(f"expected a value of size {free[0]}")
    for name in operands(meaning):
        if name not in arrays:
            raise InarchError(f"expected an array for operand {name}")
        if arrays[name].ndim != ranks(meaning)[name]:
            raise InarchError(
                f"expected operand {name} of rank {ranks(meaning)[name]}, "
                f"found shape {arrays[name].shape}"
            )


def _widened(array: Array) -> Array:
    if array.dtype.kind != "f":
        return array
    return array.astype(np.longdouble if array.dtype.itemsize >= 8 else np.float64)


def _run(
    statement: Statement, shared: tuple[Iterator, ...], arrays: dict[str, Array], *, exact: bool
) -> None:
    used = [str(index[0].iterator) for index in statement.target.indices]
    names = [*used, *(i.name for i in (*shared, *statement.iterators) if i.name not in used)]
    extents = {i.name: i.size for i in (*shared, *statement.iterators)}
    ranges: _Ranges = {name: (0, int(extents[name])) for name in names}
    pending = [ranges]
    while pending:
        piece = pending.pop()
        points = math.prod(stop - start for start, stop in piece.values())
        if points > _POINTS:
            pending += _halves(piece)
        elif points:
            _Piece(piece, arrays, exact=exact).run(statement, len(used))


def _halves(piece: _Ranges) -> tuple[_Ranges, _Ranges]:
    """The piece in two along its longest iterator."""
    name = max(piece, key=lambda each: piece[each][1] - piece[each][0])
    start, stop = piece[name]
    middle = (start + stop) // 2
    return {**piece, name: (start, middle)}, {**piece, name: (middle, stop)}


class _Piece:
    """A box of points: axis i of every grid is iterator i of `ranges`, target's iterators first."""

    def __init__(self, ranges: _Ranges, arrays: dict[str, Array], *, exact: bool) -> None:
        self.arrays = arrays
        self.exact = exact
        self.shape = tuple(stop - start for start, stop in ranges.values())
        rank = len(ranges)
        self.grids: dict[str, Array] = {
            name: np.arange(start, stop).reshape([-1 if axis == i else 1 for i in range(rank)])
            for axis, (name, (start, stop)) in enumerate(ranges.items())
        }
        self.ranges = ranges

    def run(self, statement: Statement, parallel: int) -> None:
        array = self.arrays[statement.target.operand]
        for axis, index in enumerate(statement.target.indices):
            self._check_bounds(statement.target, axis, self._index(index))
        place = tuple(slice(*self.ranges[str(i[0].iterator)]) for i in statement.target.indices)
        value = np.asarray(self._value(statement.value, array.dtype))
        value = np.broadcast_to(value, self.shape)
        operator = OPERATORS[statement.operator]
        if operator is None:
            array[place] = value
            return
        combine: np.ufunc = getattr(np, str(OF_MEANINGS[operator].numpy))
        axes = tuple(range(parallel, len(self.shape)))
        # Integers would otherwise be summed in the platform's widest type.
        reduced = combine.reduce(value, axis=axes, dtype=array.dtype) if axes else value
        array[place] = combine(array[place], reduced)

    def _value(self, expression: Expression, dtype: np.dtype) -> Array:
        match expression:
            case Number():
                return np.asarray(expression.value).astype(dtype)
            case Element():
                return self._read(expression)
            case Apply(function=function) if function in DTYPES:
                return self._cast(self._value(expression.arguments[0], dtype), function)
            case Apply():
                kind = self._dtype(expression) or dtype
                parts = [self._value(part, kind) for part in expression.arguments]
                found = OF_MEANINGS[expression.function].compute(*parts)
                return found.astype(parts[0].dtype, copy=False)

    def _dtype(self, expression: Expression) -> np.dtype | None:
        """The dtype of an expression's operands, which numbers in it take; None without any."""
        match expression:
            case Number():
                return None
            case Element():
                return self.arrays[expression.operand].dtype
            case Apply(function=function) if function in DTYPES:
                return self._cast_dtype(function)
            case Apply():
                kinds = [self._dtype(part) for part in expression.arguments]
                return next((kind for kind in kinds if kind is not None), None)

    def _cast_dtype(self, name: str) -> np.dtype:
        dtype = np.dtype(DTYPES[name].numpy)
        if not self.exact or dtype.kind != "f":
            return dtype
        return np.dtype(np.longdouble if dtype.itemsize >= 8 else np.float64)

    def _cast(self, value: Array, name: str) -> Array:
        """A float saturates as an integer, NaN is 0, as everywhere in Inarch."""
        dtype = self._cast_dtype(name)
        if value.dtype.kind != "f" or dtype.kind not in "iu":
            return value.astype(dtype)
        limits = np.iinfo(dtype)
        whole = np.trunc(np.nan_to_num(value, nan=0.0, posinf=math.inf, neginf=-math.inf))
        low, high = whole <= float(limits.min), whole >= float(limits.max)
        inside = np.where(low | high, 0, whole).astype(dtype)
        return np.where(low, limits.min, np.where(high, limits.max, inside)).astype(dtype)

    def _read(self, element: Element) -> Array:
        indices: list[Array] = []
        for axis, index in enumerate(element.indices):
            indices.append(self._index(index))
            self._check_bounds(element, axis, indices[-1])
        return self.arrays[element.operand][tuple(indices)]

    def _index(self, index: Index) -> Array:
        total = np.asarray(0)
        for term in index:
            factor = math.prod(int(each) for each in term.factors)
            total = total + (
                factor if term.iterator is None else self.grids[term.iterator] * factor
            )
        return total

    def _check_bounds(self, element: Element, axis: int, index: Array) -> None:
        """NumPy would read a negative index from the end."""
        size = self.arrays[element.operand].shape[axis]
        low, high = int(index.min()), int(index.max())
        if low < 0 or high >= size:
            raise InarchError(
                f"{element_text(element)} reaches {low if low < 0 else high} in dimension {axis} "
                f"of size {size}"
            )
