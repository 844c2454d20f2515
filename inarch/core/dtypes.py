"""The element types of Inarch: one table of what each is called in MLIR, NumPy, C and DLPack.

A bool is `i1`, stored as one byte (0 or 1). Signed integers are signless in the IR, as in MLIR;
unsigned ones are `ui8` .. `ui64`. Everything else about a dtype is derived from this table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from inarch.core.errors import UnsupportedError


@dataclass(frozen=True)
class DType:
    """One element type; `bits` as stored in memory."""

    name: str
    """In the IR: `f32`, `i64`, `ui8`, `i1`."""
    numpy: str
    """The NumPy name: `float32`."""
    c: str
    """The C type: `float`, `int64_t`."""
    dlpack: int
    """DLPack's type code (dlpack.h, DLDataTypeCode): 0 int, 1 uint, 2 float, 6 bool."""
    bits: int

    @property
    def nbytes(self) -> int:
        """Bytes of one element in memory."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        """Whether arithmetic on it is floating point."""
        return self.dlpack == 2

    @property
    def is_unsigned(self) -> bool:
        """Whether division, comparison and widening treat it as unsigned (bools are)."""
        return self.dlpack in (1, 6)

    @property
    def least(self) -> float:
        """The least value: -inf of floats. The start of a maximum.

        >>> [DTYPES[name].least for name in ("f32", "i8", "ui8")]
        [-inf, -128, 0]
        """
        if self.is_float:
            return -math.inf
        return 0 if self.is_unsigned else -(1 << (self.bits - 1))

    @property
    def greatest(self) -> float:
        """The greatest value: inf of floats. The start of a minimum.

        >>> [DTYPES[name].greatest for name in ("f32", "i8", "ui8", "i1")]
        [inf, 127, 255, 1]
        """
        if self.is_float or self.name == "i1":
            return math.inf if self.is_float else 1
        return (1 << (self.bits - (not self.is_unsigned))) - 1


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("f32", "float32", "float", 2, 32),
        DType("f64", "float64", "double", 2, 64),
        DType("i8", "int8", "int8_t", 0, 8),
        DType("i16", "int16", "int16_t", 0, 16),
        DType("i32", "int32", "int32_t", 0, 32),
        DType("i64", "int64", "int64_t", 0, 64),
        DType("ui8", "uint8", "uint8_t", 1, 8),
        DType("ui16", "uint16", "uint16_t", 1, 16),
        DType("ui32", "uint32", "uint32_t", 1, 32),
        DType("ui64", "uint64", "uint64_t", 1, 64),
        DType("i1", "bool", "uint8_t", 6, 8),
    )
}
"""By IR name."""

_BY_NUMPY = {dtype.numpy: dtype for dtype in DTYPES.values()}


def from_numpy(name: str) -> DType:
    """The dtype that NumPy calls `name` (`array.dtype.name`).

    >>> from_numpy("float32").c
    'float'
    """
    if name not in _BY_NUMPY:
        raise UnsupportedError(
            f"dtype '{name}' is not supported; supported: {', '.join(_BY_NUMPY)}"
        )
    return _BY_NUMPY[name]
