"""f16: IEEE 754 binary16, of 5 bits of exponent and 10 of fraction; without branches, as loops then vectorize."""

from __future__ import annotations

from typing import Any

from inarch.core.dtypes import DType

_BIAS = 127 - 15
"""Between the exponents of an f32 and of an f16."""
_INFINITY = 0x7F800000
_NORMAL = (_BIAS + 1) << 23
"""The bits of the least normal number of f16, as an f32."""
_MOST = 0x477FEFFF
"""Those of the largest number that is not rounded to infinity: below 65520."""
_HALF = 0x3F000000


def widen(bits: Any) -> Any:
    """The fields go where those of an f32 are; a product moves the exponent, of denormals too, exactly."""
    wide = bits.cast("ui32")
    is_special = ((wide & 0x7C00) + 0x0400).shift_right(15)  # 1 of infinities and NaN, else 0
    size = (wide & 0x7FFF).shift_left(13).bitcast("f32") * 2.0**_BIAS
    exponent = (0 - is_special) & _INFINITY
    return (size.bitcast("ui32") | exponent | (wide & 0x8000).shift_left(16)).bitcast("f32")


def narrow(number: Any) -> Any:
    """To the nearest, halves to even; NaN is a quiet one. Each mask is all ones or 0: a difference's sign."""
    bits = number.bitcast("ui32")
    size = bits & 0x7FFFFFFF
    is_small, is_large, is_nan = (
        0 - difference.shift_right(31)
        for difference in (size - _NORMAL, _MOST - size, _INFINITY - size)
    )
    # Half of the last place is added, and that too where the place is odd: a tie goes to the even one.
    normal = (size - (_BIAS << 23) + 0x0FFF + (size.shift_right(13) & 1)).shift_right(13)
    # Of a sum with 0.5 the last place is that of denormals: the addition rounds.
    small = (size.bitcast("f32") + 0.5).bitcast("ui32") - _HALF
    finite = (small & is_small) | (normal & ~(is_small | is_large))
    found = finite | (is_large & 0x7C00) | (is_nan & 0x0200) | (bits.shift_right(16) & 0x8000)
    return found.cast("ui16")


DTYPE = DType(
    "f16",
    numpy="float16",
    c="uint16_t",
    dlpack=2,
    bits=16,
    onnx=10,
    arithmetic="f32",
    widen=widen,
    narrow=narrow,
)
