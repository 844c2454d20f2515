"""The element types that the backend takes, and the C types that it computes them in."""

from __future__ import annotations

from inarch.core.dtypes import DTYPES, DType

_C_TYPES = {
    dtype.name: dtype.c if dtype.is_float else f"uint{dtype.bits}_t"
    for dtype in map(DTYPES.__getitem__, ("f32", "f64", "i8", "i32", "i64", "ui8", "ui32", "ui64"))
}
"""Integers are computed without a sign: `+ - *` give the same bits, and wrap, which signed ones may not.

16 bits are left out: C multiplies them as `int`, where 65535 * 65535 overflows.
"""

DTYPE_NAMES = ", ".join(_C_TYPES)


def is_supported(dtype: DType) -> bool:
    """Whether the backend has code for `dtype`."""
    return dtype.name in _C_TYPES


def c_type(dtype: DType) -> str:
    """The C type of a supported dtype."""
    return _C_TYPES[dtype.name]
