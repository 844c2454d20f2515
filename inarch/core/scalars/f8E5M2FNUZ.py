"""f8E5M2FNUZ: without infinities and -0."""

from __future__ import annotations

from inarch.core.dtypes import DType
from inarch.core.scalars.ieee import conversions

_WIDEN, _NARROW = conversions(exponent=5, fraction=2, specials="FNUZ")

DTYPE = DType(
    "f8E5M2FNUZ",
    numpy="float8_e5m2fnuz",
    c="uint8_t",
    dlpack=13,
    bits=8,
    onnx=20,
    arithmetic="f32",
    package="ml_dtypes",
    widen=_WIDEN,
    narrow=_NARROW,
)
