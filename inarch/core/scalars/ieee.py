"""Conversions of floats that are made as IEEE 754 says, with few bits: by integers, without branches.

Loops around them vectorize. A mask is all ones or 0, as the sign of a difference says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Conversion: TypeAlias = Callable[[Any], Any]
"""From the `Scalar` of a float's bits to that of an f32, or back."""

_INFINITY = 0x7F800000
"""The bits of infinity as an f32."""
_FRACTION = 23
"""Bits of an f32's fraction."""


def conversions(exponent: int, fraction: int) -> tuple[Conversion, Conversion]:
    """`widen` and `narrow` of a format of so many bits of exponent (below 8) and of fraction, and a sign.

    Narrowing is to the nearest, halves to even; what is too large is an infinity, NaN a quiet one.
    """
    bits, shift = 1 + exponent + fraction, _FRACTION - fraction
    stored = f"ui{bits}"
    sign, infinity = 1 << (bits - 1), ((1 << exponent) - 1) << fraction
    bias = (1 << (exponent - 1)) - 1
    apart = 127 - bias  # of the exponents of an f32 and of the format
    normal = (apart + 1) << _FRACTION  # the least normal number, as an f32
    # Below this a number is not rounded to infinity: the largest one and half of its last place.
    beyond = (127 + bias) << _FRACTION | ((2 << fraction) - 1) << (shift - 1)

    def widen(value: Any) -> Any:
        """The fields go where an f32 has them; a product moves the exponent, of denormals too, exactly."""
        wide = value.cast("ui32")
        is_special = 0 - ((wide & infinity) + (1 << fraction)).shift_right(exponent + fraction)
        size = (wide & (sign - 1)).shift_left(shift).bitcast("f32") * 2.0**apart
        number = size.bitcast("ui32") | (is_special & _INFINITY)
        return (number | (wide & sign).shift_left(32 - bits)).bitcast("f32")

    def narrow(number: Any) -> Any:
        wide = number.bitcast("ui32")
        size = wide & 0x7FFFFFFF
        is_small, is_large, is_nan = (
            0 - difference.shift_right(31)
            for difference in (size - normal, beyond - 1 - size, _INFINITY - size)
        )
        # Half of the last place is added, and that too where the place is odd: a tie goes to the even one.
        half = (1 << (shift - 1)) - 1 + (size.shift_right(shift) & 1)
        rounded = (size - (apart << _FRACTION) + half).shift_right(shift)
        # A sum with this number has the last place of the format's denormals: the addition rounds.
        power = 2.0 ** (1 - bias - fraction + _FRACTION)
        place = (size.bitcast("f32") + power).bitcast("ui32")
        small = place - ((127 + 1 - bias - fraction + _FRACTION) << _FRACTION)
        found = (small & is_small) | (rounded & ~(is_small | is_large))
        special = (is_large & infinity) | (is_nan & (1 << (fraction - 1)))
        return (found | special | (wide.shift_right(32 - bits) & sign)).cast(stored)

    return widen, narrow
