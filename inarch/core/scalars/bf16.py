"""bf16: the upper half of an f32, as weights and activations of many models are stored."""

from __future__ import annotations

from typing import Any

from inarch.core.dtypes import DType


def widen(bits: Any) -> Any:
    """The bits below are zeros."""
    return bits.cast("ui32").shift_left(16).bitcast("f32")


def narrow(number: Any) -> Any:
    """To the nearest, halves to even; NaN stays one, with its upper half."""
    bits = number.bitcast("ui32")
    is_nan = (0x7F800000 - (bits & 0x7FFFFFFF)).shift_right(
        31
    )  # 1 of NaN, else 0: the sign of a difference
    # Half of the last place is added, and that too where the place is odd: a tie goes to the even one.
    half = ((bits.shift_right(16) & 1) + 0x7FFF) & (is_nan - 1)
    return ((bits + half).shift_right(16) | is_nan.shift_left(6)).cast("ui16")


DTYPE = DType(
    "bf16",
    numpy="bfloat16",
    c="uint16_t",
    dlpack=4,
    bits=16,
    onnx=16,
    arithmetic="f32",
    package="ml_dtypes",
    widen=widen,
    narrow=narrow,
)
