"""Conversions of floats that are made as IEEE 754 says, with few bits: by integers, without branches.

Loops around them vectorize. A mask is all ones or 0, as the sign of a difference says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Conversion: TypeAlias = Callable[[Any], Any]
"""From the `Scalar` of a float's bits to that of an f32, or back."""

_INFINITY = 0x7F800000
"""The bits of infinity as an f32."""
_QUIET = 0x7FC00000
"""Those of a NaN."""
_FRACTION = 23
"""Bits of an f32's fraction."""


def conversions(
    exponent: int, fraction: int, specials: Literal["IEEE", "FN", "FNUZ"] = "IEEE"
) -> tuple[Conversion, Conversion]:
    """`widen` and `narrow` of a format of so many bits of exponent (below 8) and of fraction, and a sign.

    Of `specials` IEEE has infinities and NaN with the greatest exponent; FN has NaN alone, the number of all
    ones; FNUZ has one NaN, in the place of -0, and a bias that is one more.
    Narrowing is to the nearest, halves to even; what is too large is an infinity, or else NaN.
    """
    bits, shift = 1 + exponent + fraction, _FRACTION - fraction
    stored = f"ui{bits}"
    sign, infinity = 1 << (bits - 1), ((1 << exponent) - 1) << fraction
    beyond = {"IEEE": infinity, "FN": sign - 1, "FNUZ": sign}[specials]
    """The least bits, without a sign, that are no finite number."""
    quiet = infinity | (1 << (fraction - 1)) if specials == "IEEE" else beyond
    bias = (1 << (exponent - 1)) - (specials != "FNUZ")
    apart = 127 - bias  # of the exponents of an f32 and of the format
    normal = (apart + 1) << _FRACTION  # the least normal number, as an f32

    def widen(value: Any) -> Any:
        """The fields go where an f32 has them; a product moves the exponent, of denormals too, exactly."""
        wide = value.cast("ui32")
        below = (wide ^ sign) - 1 if specials == "FNUZ" else (beyond - 1) - (wide & (sign - 1))
        is_special = 0 - below.shift_right(31)
        size = (wide & (sign - 1)).shift_left(shift).bitcast("f32") * 2.0**apart
        special = _INFINITY if specials == "IEEE" else _QUIET
        number = size.bitcast("ui32") | (is_special & special)
        return (number | (wide & sign).shift_left(32 - bits)).bitcast("f32")

    def narrow(number: Any) -> Any:
        wide = number.bitcast("ui32")
        size = wide & 0x7FFFFFFF
        is_small = 0 - (size - normal).shift_right(31)
        is_nan = 0 - (_INFINITY - size).shift_right(31)
        # Half of the last place is added, and that too where the place is odd: a tie goes to the even one.
        half = (1 << (shift - 1)) - 1 + (size.shift_right(shift) & 1)
        rounded = (size - (apart << _FRACTION) + half).shift_right(shift)
        is_large = (0 - ((beyond - 1) - rounded).shift_right(31)) & ~is_small
        # A sum with this number has the last place of the format's denormals: the addition rounds.
        power = 2.0 ** (1 - bias - fraction + _FRACTION)
        place = (size.bitcast("f32") + power).bitcast("ui32")
        small = place - ((127 + 1 - bias - fraction + _FRACTION) << _FRACTION)
        found = (small & is_small) | (rounded & ~(is_small | is_large))
        found = found | (is_large & beyond) | (is_nan & quiet)
        negative = wide.shift_right(32 - bits) & sign
        if specials == "FNUZ":  # 0 and NaN have no sign of their own
            negative = negative & (0 - (0 - found).shift_right(31))
        return (found | negative).cast(stored)

    return widen, narrow
