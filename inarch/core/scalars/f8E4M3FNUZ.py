"""f8E4M3FNUZ: without infinities and -0."""

from __future__ import annotations

from inarch.core.dtypes import DType
from inarch.core.scalars.ieee import conversions

_WIDEN, _NARROW = conversions(exponent=4, fraction=3, specials="FNUZ")

DTYPE = DType(
    "f8E4M3FNUZ",
    numpy="float8_e4m3fnuz",
    c="uint8_t",
    dlpack=11,
    bits=8,
    onnx=18,
    arithmetic="f32",
    package="ml_dtypes",
    widen=_WIDEN,
    narrow=_NARROW,
)
