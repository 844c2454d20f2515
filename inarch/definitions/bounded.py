"""Numbers with a bound: a value, and how far from it a correct implementation may end.

A `Bounded` is four arrays: the value in float64; the error that it brought along; the magnitude, which is the
same expression of absolute values; and the number of roundings on the longest way through the
expression. Sums and products stay one polynomial, whose roundings are counted and applied to its
magnitude at the end: so every order, distribution and contraction (FMA) of them is within the bound
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, lemma 3.1). What is no polynomial
closes it: a function is evaluated at both ends of the interval. Integers are exact, until they come
from a float whose interval has a jump in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

from inarch.core.dtypes import float_limits, is_float_array
from inarch.core.lazy import Array, np
from inarch.core.rounding import denormal, unit


@cache
def _unit(dtype: np.dtype[Any]) -> float:
    """The unit roundoff; in f64 twice: the value is no better than what it is compared with."""
    return unit(dtype) * (1 + 2.0**-20 if dtype.itemsize < 8 else 2.0)


def largest(dtype: np.dtype[Any]) -> float:
    """The largest finite number."""
    return float_limits(dtype).most


@dataclass(frozen=True)
class Bounded:
    """Elements of `dtype` with a bound; `value` of integers and bools is an array of that dtype.

    An error of infinity says that anything is right. Infinities and NaN with an error of 0 are certain.
    A subclass allows more, or knows more: what is computed of its numbers is of its class.
    """

    SLACK: ClassVar[float] = 1.0
    """How many roundings an operation may take."""
    ULPS: ClassVar[float] = 0.0
    """What a function that rounds may be off by at least, in units in the last place of the result."""

    dtype: np.dtype[Any]
    value: Array
    error: Array
    magnitude: Array
    roundings: Array

    # -- making

    @classmethod
    def exact(cls, array: Array) -> Bounded:
        """What an input or a constant is."""
        dtype = np.asarray(array).dtype
        if not is_float_array(dtype):
            return cls.whole(np.asarray(array), np.zeros(np.shape(array)))
        wide = np.asarray(array, np.float64)
        return cls(dtype, wide, np.zeros(wide.shape), np.abs(wide), np.zeros(wide.shape))

    @classmethod
    def near(cls, array: Array, error: Array) -> Bounded:
        """What is known to be within `error` of an array; of an infinity only an infinite error counts."""
        if not is_float_array(array.dtype):
            return cls.whole(array, error)
        is_free = np.isfinite(array) | np.isinf(error)
        known = np.broadcast_to(np.where(is_free, error, 0.0), array.shape)
        return cls.leaf(array.dtype, np.asarray(array, np.float64), known)

    @classmethod
    def whole(cls, value: Array, error: Array) -> Bounded:
        """Integers or bools."""
        value = np.asarray(value)
        none = np.zeros(())
        return cls(value.dtype, value, np.broadcast_to(error, value.shape), none, none)

    @classmethod
    def leaf(cls, dtype: np.dtype[Any], value: Array, error: Array) -> Bounded:
        """A float that is no polynomial of others; what is beyond the dtype's range is an infinity."""
        value = np.asarray(value, np.float64)
        error = np.where(np.isnan(error), np.inf, error)
        made = cls(dtype, value, error, np.abs(value) + error, np.zeros(value.shape))
        return made.in_range()

    @classmethod
    def between(cls, dtype: np.dtype[Any], value: Array, low: Array, high: Array) -> Bounded:
        """A float that lies in an interval."""
        same = low == high
        with np.errstate(invalid="ignore"):  # an infinity of which nothing is known
            spread = np.maximum(high - value, value - low)
        return cls.leaf(dtype, value, np.where(same & (value == low), 0.0, spread))

    # -- reading

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def is_float(self) -> bool:
        """Whether the elements are floats."""
        return is_float_array(self.dtype)

    @property
    def unit(self) -> float:
        """What an operation may round relatively."""
        return self.SLACK * _unit(self.dtype)

    @property
    def least(self) -> float:
        """What it may round below the normal numbers."""
        return self.SLACK * denormal(self.dtype)

    @property
    def total(self) -> Array:
        """How far from `value` a correct implementation may be; infinity: anywhere."""
        if not self.is_float:
            return self.error
        own = self.roundings * self.unit
        with np.errstate(all="ignore"):  # 0 * infinity is not taken
            own = np.where(own < 0.5, own / (1 - own), np.inf)
            bound = self.error + np.where(own > 0, own * self.magnitude, 0.0)
        settled = np.where(np.isfinite(self.error), 0.0, np.inf)
        return np.where(np.isfinite(self.value), np.where(np.isnan(bound), np.inf, bound), settled)

    @property
    def ends(self) -> tuple[Array, Array]:
        """The interval in which it lies."""
        total = self.total
        finite = np.isfinite(self.value)
        low = np.where(finite, self.value - total, np.where(total > 0, -np.inf, self.value))
        high = np.where(finite, self.value + total, np.where(total > 0, np.inf, self.value))
        return low, high

    def closed(self) -> Bounded:
        """The same numbers; from here on their roundings are an error that they bring along."""
        return self.leaf(self.dtype, self.value, self.total) if self.is_float else self

    def map(self, change: Callable[[Array], Array]) -> Bounded:
        """The same of every component: a reshape, an index."""
        parts = (self.value, self.error, self.magnitude, self.roundings)
        shape = self.value.shape
        return type(self)(self.dtype, *(change(np.broadcast_to(part, shape)) for part in parts))

    # -- polynomials

    def add(self, other: Bounded, sign: int = 1) -> Bounded:
        """`self + sign * other`."""
        value = self.value + other.value if sign > 0 else self.value - other.value
        error = self.error + other.error
        if not self.is_float:
            return self.whole(value, error)
        roundings = np.maximum(self.roundings, other.roundings) + 1
        return type(self)(
            self.dtype, value, error, self.magnitude + other.magnitude, roundings
        ).in_range()

    def multiply(self, other: Bounded) -> Bounded:
        """`self * other`."""
        value = self.value * other.value
        left, right = _size(self.value), _size(other.value)
        error = left * other.error + right * self.error + self.error * other.error
        if not self.is_float:
            return self.whole(value, np.where(np.isnan(error), np.inf, error))
        error = error + self.least
        roundings = self.roundings + other.roundings + 1
        magnitude = self.magnitude * other.magnitude
        if not np.all(np.isfinite(magnitude)):
            error = np.where(np.isfinite(magnitude), error, self._doubt(other))
        return type(self)(self.dtype, value, error, magnitude, roundings).in_range()

    def _doubt(self, other: Bounded) -> Array:
        """0 where a product with an infinity or NaN is certain, else infinity."""
        total = self.total + other.total
        straddles = np.zeros(np.shape(total), bool)
        for each in (self, other):
            low, high = each.ends
            straddles |= (low <= 0) & (high >= 0) & (low < high)
        return np.where(np.isfinite(total) & ~straddles, 0.0, np.inf)

    def divide(self, other: Bounded) -> Bounded:
        """`self / other`: a polynomial times a number, the reciprocal."""
        low, high = other.ends
        value = 1.0 / other.value
        across = (low <= 0) & (high >= 0) & (low < high)
        ends = np.stack(np.broadcast_arrays(1.0 / low, 1.0 / high))
        spread = np.max(np.abs(ends - value), axis=0)
        exact = low == high
        error = np.where(across, np.inf, np.where(exact, 0.0, spread))
        error = np.where(np.isnan(error), np.inf, error)
        # An infinity may be a number that was too large, where another way to compute has no such number.
        error = np.where(np.isinf(other.value) & exact, 1.0 / largest(self.dtype), error)
        # Not `leaf`: 1 / denormal is beyond f32, and x / denormal need not be.
        reciprocal = type(self)(
            self.dtype, value, error, np.abs(value) + error, np.zeros(value.shape)
        )
        product = self.multiply(reciprocal)
        # The quotient itself: 0 / 0 and inf / inf are NaN, and multiply has rounded once only.
        quotient = self.value / other.value
        special = ~np.isfinite(quotient)
        least, most = self.ends
        # Of zero, the sign and whether it is NaN hang on a numerator that may be a little more or less.
        either = (other.value == 0) & (least <= 0) & (most >= 0) & (least < most)
        doubt = np.where(across | either | ~np.isfinite(self.total), np.inf, 0.0)
        # Of the smallest f64 the reciprocal is an infinity; the quotient need not be.
        beyond = np.isinf(value) & ~special
        size = _size(other.value)
        scaled = np.where(exact, self.error / size + self.least, np.inf)
        return type(self)(
            self.dtype,
            np.where(special | beyond, quotient, product.value),
            np.where(special, doubt, np.where(beyond, scaled, product.error)),
            np.where(beyond, self.magnitude / size, product.magnitude),
            product.roundings + 1,
        ).in_range()

    def negative(self) -> Bounded:
        """`-self`."""
        return replace(self, value=-self.value)

    def sum(self, axes: tuple[int, ...]) -> Bounded:
        """The sum along `axes` in any order."""
        whole = self.map(lambda part: part)
        count = int(np.prod([self.shape[axis] for axis in axes], dtype=np.int64))
        value = np.add.reduce(whole.value, axis=axes, dtype=whole.value.dtype)
        error = np.add.reduce(whole.error, axis=axes)
        if not self.is_float:
            return self.whole(value, error)
        magnitude = np.add.reduce(whole.magnitude, axis=axes)
        finite = np.isfinite(whole.value)
        if (
            not finite.all()
        ):  # beside an infinity: numbers that in some order are one of the other sign
            others = np.add.reduce(np.where(finite, whole.magnitude, 0.0), axis=axes)
            error = np.where(others < largest(self.dtype), error, np.inf)
        roundings = np.maximum.reduce(whole.roundings, axis=axes) + count
        return type(self)(self.dtype, value, error, magnitude, roundings).in_range()

    def rounded_after(self, other: Bounded) -> Bounded:
        """The same, on a way that begins with the roundings of `other`."""
        return replace(self, roundings=self.roundings + other.roundings)

    def in_any_order(self, factors: Sequence[Bounded]) -> Bounded:
        """`self`, a product along the first axis of each of `factors`, multiplied in any order.

        Some of them alone may be below the normal numbers, where bits are lost that others then make
        larger, or beyond the largest one.
        """
        sizes = np.concatenate([_size(each.value) for each in factors])
        has_zero, is_special = (sizes == 0).any(0), ~np.isfinite(sizes).all(0)
        logs = np.log2(np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0))
        low, high = np.minimum(logs, 0).sum(0), np.maximum(logs, 0).sum(0)
        info = float_limits(self.dtype)
        is_low = (low < np.log2(info.normal)) & ~has_zero
        lost = np.where(is_low, len(sizes) * self.least * 2.0**high, 0.0)
        # An infinity times what is 0 is NaN: by the order, one that was too large, or what was too small.
        doubtful = (high >= np.log2(info.most)) & ((low < 0) | has_zero) | (is_special & is_low)
        is_nan = np.concatenate([np.isnan(each.value) & (each.total == 0) for each in factors])
        error = np.where(doubtful, np.inf, self.error + lost)
        return replace(self, error=np.where(is_nan.any(0), 0.0, error))

    def in_range(self) -> Bounded:
        """Infinities where the dtype has no such number, doubt where an order might overflow."""
        limit = largest(self.dtype)
        if np.all(self.magnitude < limit):
            return self
        total = self.total
        finite = np.isfinite(self.value)
        doubtful = finite & ~(self.magnitude + total < limit)
        alone = self.magnitude <= np.abs(self.value) * (1 + 2.0**-20) + self.error
        beyond = doubtful & alone & (np.abs(self.value) > limit + total)
        value = np.where(beyond, np.copysign(np.inf, self.value), self.value)
        error = np.where(beyond, 0.0, np.where(doubtful, np.inf, self.error))
        error = np.where(finite, error, np.where(np.isfinite(total), 0.0, np.inf))
        magnitude = np.where(np.isnan(self.magnitude), np.inf, self.magnitude)
        return type(self)(self.dtype, value, error, magnitude, self.roundings)

    # -- what is no polynomial

    def apply(
        self, function: Callable[[Array], Array], ulps: float, turning_points: Sequence[float] = ()
    ) -> Bounded:
        """A function that is monotone between `turning_points`, and implemented within `ulps`."""
        low, high = self.ends
        value = np.asarray(function(self.value), np.float64)
        found = [np.asarray(function(low), np.float64), np.asarray(function(high), np.float64)]
        for point in turning_points:
            inside = (low < point) & (point < high)
            found.append(np.where(inside, function(np.asarray(point)), value))
        spread = np.max(np.abs(np.stack(np.broadcast_arrays(*found)) - value), axis=0)
        unknown = ~np.isfinite(self.error)
        # Outside of where it is defined: no function has both sides of 0 outside, and 0 not.
        outside = np.isnan(value) & np.isnan(found[0]) & np.isnan(found[1])
        settled = (self.total == 0) | (outside & (low * high > 0))
        spread = np.where(settled, 0.0, np.where(np.isnan(spread), np.inf, spread))
        error = np.where(unknown, np.inf, spread)
        return self.leaf(self.dtype, value, self._rounded(value, error, ulps))

    def _rounded(self, value: Array, error: Array, ulps: float) -> Array:
        """`error`, and `ulps` units in the last place of the result."""
        if not ulps:
            return error
        size = np.where(np.isfinite(value), np.abs(value), 0.0)
        size = size + np.where(np.isfinite(error), error, 0.0)
        return error + max(ulps, self.ULPS) * (2 * self.unit * size + self.least)

    def lipschitz(self, function: Callable[[Array], Array], ulps: float) -> Bounded:
        """A function with a slope of at most 1."""
        value = np.asarray(function(self.value), np.float64)
        return self.leaf(self.dtype, value, self._rounded(value, self.total, ulps))

    def extreme(self, other: Bounded, function: Callable[[Array, Array], Array]) -> Bounded:
        """`np.maximum` and the like: monotone in both."""
        if not self.is_float:
            value = function(self.value, other.value)
            return self.whole(value, np.maximum(self.error, other.error))
        (low, high), (other_low, other_high) = self.ends, other.ends
        value = function(self.value, other.value)
        made = self.between(self.dtype, value, function(low, other_low), function(high, other_high))
        unknown = ~(np.isfinite(self.error) & np.isfinite(other.error))
        special = ~np.isfinite(value) & ~unknown
        error = np.where(special, 0.0, np.where(unknown, np.inf, made.error))
        return self.leaf(self.dtype, value, error)

    def compare(self, other: Bounded, function: Callable[[Array, Array], Array]) -> Bounded:
        """A comparison; unknown where the intervals meet."""
        value = np.asarray(function(self.value, other.value))
        if not self.is_float:
            spread = self.error + other.error
            near = np.abs(_size(self.value) - _size(other.value)) <= spread
            return self.whole(value, np.where((spread > 0) & near, np.inf, 0.0))
        spread = self.total + other.total
        if self is other:  # `x != x` asks for NaN: both are one number
            return self.whole(value, np.where(np.isfinite(spread), 0.0, np.inf))
        near = ~(np.abs(self.value - other.value) > spread)
        return self.whole(value, np.where((spread > 0) & near, np.inf, 0.0))

    def choose(self, left: Bounded, right: Bounded) -> Bounded:
        """`left` where this bool is set, else `right`; both where it is not known."""
        flag = self.value.astype(bool)
        shape = np.broadcast_shapes(self.shape, left.shape, right.shape)

        def pick(a: Array, b: Array) -> Array:
            return np.broadcast_to(np.where(flag, a, b), shape)

        picked = type(self)(
            left.dtype,
            pick(left.value, right.value),
            pick(left.error, right.error),
            pick(left.magnitude, right.magnitude),
            pick(left.roundings, right.roundings),
        )
        unknown = np.broadcast_to(self.error > 0, shape)
        if not unknown.any():
            return picked
        own = picked.value.astype(np.float64)
        reach = [np.abs(own - each.value) + each.total for each in (left, right)]
        error = np.where(unknown, np.maximum(*reach), picked.total)
        if not left.is_float:
            return self.whole(picked.value, error)
        return self.leaf(left.dtype, picked.value, error)

    def exactly(self, function: Callable[..., Array], *others: Bounded) -> Bounded:
        """A function of exact numbers; unknown where one is not."""
        every = (self, *others)
        value = np.asarray(function(*(each.value.astype(each.dtype) for each in every)))
        unknown = np.zeros(value.shape, bool)
        for each in every:
            unknown |= each.total > 0
        error = np.where(unknown, np.inf, 0.0)
        if not is_float_array(value.dtype):
            return self.whole(value, error)
        return self.leaf(value.dtype, value.astype(np.float64), error)

    # -- conversions

    def round_to(self, dtype: np.dtype[Any]) -> Bounded:
        """A float, or an integer, as a float of `dtype`; of what is certain one number is the nearest."""
        value, total = self.value.astype(np.float64), self.total
        if self.is_float and self.dtype.itemsize <= dtype.itemsize:
            return self.leaf(dtype, value, total)
        with np.errstate(all="ignore"):
            nearest = self.value.astype(dtype).astype(np.float64)
        certain = (total == 0) | ~np.isfinite(value)
        below = np.where(nearest == value, 0.0, denormal(dtype))
        rounded = self.SLACK * (np.abs(value) * _unit(dtype) + below)
        return self.leaf(
            dtype, np.where(certain, nearest, value), np.where(certain, total, total + rounded)
        )

    def to_whole(self, function: Callable[[Array], Array]) -> Bounded:
        """A float as an integer: what the jumps in the interval give."""
        low, high = self.ends
        value, least, most = function(self.value), function(low), function(high)
        spread = np.maximum(_size(most - value), _size(value - least))
        spread = np.maximum(spread, _size(most.astype(np.float64) - least.astype(np.float64)))
        return self.whole(value, np.where(self.total == 0, 0.0, spread))


def _size(array: Array) -> Array:
    return np.abs(np.asarray(array).astype(np.float64))
