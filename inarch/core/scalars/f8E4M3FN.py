"""f8E4M3FN: without infinities: weights and activations of many models."""

from __future__ import annotations

from inarch.core.dtypes import DType
from inarch.core.scalars.ieee import conversions

_WIDEN, _NARROW = conversions(exponent=4, fraction=3, specials="FN")

DTYPE = DType(
    "f8E4M3FN",
    numpy="float8_e4m3fn",
    c="uint8_t",
    dlpack=10,
    bits=8,
    onnx=17,
    arithmetic="f32",
    package="ml_dtypes",
    widen=_WIDEN,
    narrow=_NARROW,
)
