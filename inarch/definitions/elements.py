"""What definitions compute with: NumPy arrays, or arrays with bounds (`bounded.py`), by the same functions.

An element is one array for all points at which an op is evaluated. Floats have the op's dtype and are rounded
after each op; integers are signless, so functions that need a sign take the unsigned view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from inarch.core.dtypes import is_float_array
from inarch.core.lazy import Array, np
from inarch.core.rounding import LIBRARY_ULPS
from inarch.core.scalars.functions import BY_OP, Function
from inarch.definitions.bounded import Bounded

Element: TypeAlias = Any
"""A NumPy array, or a `Bounded`."""

ArrayFunction: TypeAlias = Callable[[Array], Array] | Callable[[Array, Array], Array]
"""A function of the numbers of one or two operands."""


def is_float(x: Element) -> bool:
    """Whether the elements are floats."""
    return is_float_array(np.dtype(x.dtype))


def plain(x: Element) -> Array:
    """The values, without bounds."""
    return x.value if isinstance(x, Bounded) else np.asarray(x)


# ---------------------------------------------------------------------------------- arithmetic


def add(a: Element, b: Element) -> Element:
    """`a + b`; integers wrap, bools are integers of one bit."""
    if isinstance(a, Bounded):
        return a.exactly(np.logical_xor, b) if a.dtype.kind == "b" else a.add(b)
    return np.logical_xor(a, b) if np.asarray(a).dtype.kind == "b" else np.add(a, b)


def subtract(a: Element, b: Element) -> Element:
    """`a - b`; integers wrap."""
    if isinstance(a, Bounded):
        return a.exactly(np.logical_xor, b) if a.dtype.kind == "b" else a.add(b, -1)
    return np.logical_xor(a, b) if np.asarray(a).dtype.kind == "b" else np.subtract(a, b)


def multiply(a: Element, b: Element) -> Element:
    """`a * b`; integers wrap."""
    if isinstance(a, Bounded):
        return a.exactly(np.logical_and, b) if a.dtype.kind == "b" else a.multiply(b)
    return np.multiply(a, b)


def divide(a: Element, b: Element) -> Element:
    """`a / b` of floats."""
    return a.divide(b) if isinstance(a, Bounded) else np.divide(a, b)


def negative(a: Element) -> Element:
    """`-a` of floats."""
    return a.negative() if isinstance(a, Bounded) else np.negative(a)


def extreme(function: Any, a: Element, b: Element) -> Element:
    """`np.maximum`, `np.minimum`, `np.fmax` or `np.fmin`."""
    return a.extreme(b, function) if isinstance(a, Bounded) else np.asarray(function(a, b))


def compare(function: Any, a: Element, b: Element) -> Element:
    """A comparison as a bool."""
    return a.compare(b, function) if isinstance(a, Bounded) else np.asarray(function(a, b))


def select(condition: Element, a: Element, b: Element) -> Element:
    """`a` where the bool is set, else `b`."""
    if isinstance(condition, Bounded):
        return condition.choose(a, b)
    return np.where(np.asarray(condition), np.asarray(a), np.asarray(b))


def exactly(function: ArrayFunction, *elements: Element) -> Element:
    """A function of integers, bools or bits."""
    compute: Callable[..., Array] = function
    if isinstance(elements[0], Bounded):
        return elements[0].exactly(compute, *elements[1:])
    return np.asarray(compute(*map(np.asarray, elements)))


# ---------------------------------------------------------------------------------- conversions


def to_float(x: Element, dtype: np.dtype[Any]) -> Element:
    """A number as a float, rounded to the nearest."""
    return x.round_to(dtype) if isinstance(x, Bounded) else np.asarray(x).astype(dtype)


def to_integer(x: Element, dtype: np.dtype[Any]) -> Element:
    """A float towards zero; saturates, NaN is 0."""

    def convert(values: Array) -> Array:
        limits = np.iinfo(dtype)
        whole = np.trunc(np.where(np.isnan(values), 0, values))
        low, high = whole <= float(limits.min), whole >= float(limits.max)
        inside = np.where(low | high, 0, whole).astype(dtype)
        return np.where(low, limits.min, np.where(high, limits.max, inside)).astype(dtype)

    return x.to_whole(convert) if isinstance(x, Bounded) else convert(np.asarray(x))


def reinterpret(x: Element, dtype: np.dtype[Any]) -> Element:
    """An integer of one width as of another, by its low bits; or a bool as 0 and 1."""
    if isinstance(x, Bounded):
        value = x.value.astype(dtype)
        fits = value.astype(x.value.dtype) == x.value
        error = np.where((x.error > 0) & ~fits, np.inf, x.error)
        return x.whole(value, error)
    return np.asarray(x).astype(dtype)


def bits(x: Element, dtype: np.dtype[Any]) -> Element:
    """The same bits as another dtype of that width; of a NaN, sign and payload are not defined.

    Of a signalling NaN nothing is said: `minnumf` of it and a number is either (LLVM's LangRef, llvm.minnum).
    """

    def view(values: Array) -> Array:
        return np.ascontiguousarray(values).view(dtype).reshape(values.shape)

    with np.errstate(invalid="ignore"):  # of a signalling NaN that is converted
        found = exactly(view, x)
    if not isinstance(x, Bounded):
        return found
    assert isinstance(found, Bounded)
    if x.is_float:
        error = np.where(np.isnan(x.value), np.inf, found.error)
        return replace(found, error=error)
    if found.is_float:
        quiet = 1 << (np.finfo(dtype).nmant - 1)
        signalling = np.isnan(found.value) & (x.value.astype(np.int64) & quiet == 0)
        return x.leaf(dtype, found.value, np.where(signalling, np.inf, found.error))
    return found


def copy_sign(a: Element, b: Element) -> Element:
    """The size of `a` with the sign of `b`; that of a NaN is not defined."""
    made = apply_binary(np.copysign, a, b, 0)
    if not isinstance(b, Bounded):
        return made
    assert isinstance(made, Bounded)
    return made.leaf(made.dtype, made.value, np.where(np.isnan(b.value), np.inf, made.error))


# ---------------------------------------------------------------------------------- functions


def apply(function: Function, x: Element) -> Element:
    """A function of one float; unknown where a pole may be near."""
    if not isinstance(x, Bounded):
        return function.compute(np.asarray(x, np.float64)).astype(x.dtype)
    is_library = function.is_ours and x.dtype.name == "float64"
    ulps = LIBRARY_ULPS if is_library else function.ulps
    if function.slope_below_one:
        return x.lipschitz(function.compute, ulps)
    made = x.apply(function.compute, ulps, function.turning_points)
    if not function.period:
        return made
    low, high = (np.floor(end / function.period + 0.5) for end in x.ends)
    return x.leaf(x.dtype, made.value, np.where(low != high, np.inf, made.error))


def apply_binary(
    function: Callable[[Array, Array], Array], a: Element, b: Element, ulps: float = LIBRARY_ULPS
) -> Element:
    """A function of two floats that is monotone in each where neither interval has 0 in it."""
    if not isinstance(a, Bounded):
        wide = function(np.asarray(a, np.float64), np.asarray(b, np.float64))
        return np.asarray(wide).astype(a.dtype)
    value = np.asarray(function(a.value, b.value), np.float64)
    (low, high), (other_low, other_high) = a.ends, b.ends
    corners = [function(x, y) for x in (low, high) for y in (other_low, other_high)]
    spread = np.max(np.abs(np.stack(np.broadcast_arrays(*corners)) - value), axis=0)
    exact = (a.total == 0) & (b.total == 0)
    across = ((low <= 0) & (high >= 0)) | ((other_low <= 0) & (other_high >= 0))
    error = np.where(exact, 0.0, np.where(across | np.isnan(spread), np.inf, spread))
    unit = 2.0**-22 if a.dtype.name == "float32" else 2.0**-51
    size = np.where(np.isfinite(value), np.abs(value), 0.0)
    return a.leaf(a.dtype, value, error + ulps * (unit * size + 2.0**-149))


# ---------------------------------------------------------------------------------- reductions

FOLDS: Mapping[str, str] = {
    op: str(row.numpy)
    for op, (row, is_signed) in BY_OP.items()
    if row.commutes and is_signed is not False
}
"""Ops that may combine the points of a reduction in any order, and NumPy's function for it."""


def fold(
    name: str, x: Element, axes: Sequence[int], combine: Callable[..., Element], start: Element
) -> Element:
    """`start` and the elements along the leading `axes` as one, by the op `name`, which is `combine`."""
    if not isinstance(x, Bounded) and name in FOLDS:
        return combine(start, _reduced(name, x, axes))
    if isinstance(x, Bounded) and name in ("arith.addf", "arith.addi") and x.dtype.kind != "b":
        total = x.sum(tuple(axes))
        # What `start` holds may be added first, and is rounded with each element then: a reduction that is
        # evaluated in parts is one sum.
        return combine(start, total.rounded_after(start) if total.is_float else total)
    count, rest = math.prod(x.shape[: len(axes)]), x.shape[len(axes) :]
    flat = _map(x, lambda part: part.reshape(count, *rest))
    result, pairs = start, flat
    while count > 1:  # by halves, as any order gives the same
        half = count // 2
        if count % 2:
            result = combine(result, _map(pairs, lambda part: part[-1]))
        left = _map(pairs, lambda part, half=half: part[:half])
        pairs = combine(left, _map(pairs, lambda part, half=half: part[half : 2 * half]))
        count = half
    result = combine(result, _map(pairs, lambda part: part[0]))
    if name != "arith.mulf":
        return result
    first = _map(start, lambda part: np.broadcast_to(without(part, len(rest)), rest)[None])
    return result.in_any_order([first, flat])


def without(part: Array, rank: int) -> Array:
    """Without the axes of a single reduction point."""
    return part.reshape(part.shape[part.ndim - rank :]) if part.ndim > rank else part


def _map(x: Element, change: Callable[[Array], Array]) -> Element:
    """The same of every part: a reshape, an index."""
    return x.map(change) if isinstance(x, Bounded) else change(np.asarray(x))


def _reduced(name: str, x: Element, axes: Sequence[int]) -> Element:
    array = np.asarray(x)
    function = FOLDS[name]
    if array.dtype.kind == "b" and function == "add":
        function = "logical_xor"
    ufunc: np.ufunc = getattr(np, function)
    return ufunc.reduce(array, axis=tuple(axes), dtype=array.dtype)
