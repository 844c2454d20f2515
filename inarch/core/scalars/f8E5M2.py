"""f8E5M2: the upper half of an f16."""

from __future__ import annotations

from inarch.core.dtypes import DType
from inarch.core.scalars.ieee import conversions

_WIDEN, _NARROW = conversions(exponent=5, fraction=2)

DTYPE = DType(
    "f8E5M2",
    numpy="float8_e5m2",
    c="uint8_t",
    dlpack=12,
    bits=8,
    onnx=19,
    arithmetic="f32",
    package="ml_dtypes",
    widen=_WIDEN,
    narrow=_NARROW,
)
