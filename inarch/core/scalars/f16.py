"""f16: IEEE 754's binary16."""

from __future__ import annotations

from inarch.core.dtypes import DType
from inarch.core.scalars.ieee import conversions

_WIDEN, _NARROW = conversions(exponent=5, fraction=10)

DTYPE = DType(
    "f16",
    numpy="float16",
    c="uint16_t",
    dlpack=2,
    bits=16,
    onnx=10,
    arithmetic="f32",
    widen=_WIDEN,
    narrow=_NARROW,
)
