"""The element types of Inarch: one row each of what it is called in MLIR, NumPy, C, DLPack and ONNX.

A bool is `i1`, stored as one byte (0 or 1). Signed integers are signless in the IR, as in MLIR;
unsigned ones are `ui8` .. `ui64`. Everything else about a dtype is derived from its row. A float that is only
stored, such as bf16, is a file that defines `DTYPE`: those of `inarch/core/scalars/`, and of others
(docs/extending.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import chain
from typing import Any

from inarch.core.errors import UnsupportedError, UsageError, needing
from inarch.core.lazy import Array, np
from inarch.core.plugins import API_VERSION, Extensions


@dataclass(frozen=True)
class DType:
    """One element type; `bits` as in memory."""

    name: str
    """In the IR: `f32`, `i64`, `ui8`, `i1`."""
    numpy: str
    """The NumPy name: `float32`."""
    c: str
    """The C type: `float`, `int64_t`; of a float that is only stored the unsigned integer of its bits."""
    dlpack: int
    """DLPack's type code (dlpack.h, DLDataTypeCode): 0 int, 1 uint, 2 float, 4 bfloat, 6 bool."""
    bits: int
    onnx: int = 0
    """ONNX's (onnx.proto, TensorProto.DataType); 0: none."""
    arithmetic: str = ""
    """Of a float that is only stored: the dtype in which its values are computed with; empty: itself."""
    widen: Callable[[Any], Any] | None = None
    """Of such a one: its value in `arithmetic`, traced once on a `Scalar` of its bits (`ui16`)."""
    narrow: Callable[[Any], Any] | None = None
    """The bits of the value nearest to a number of `arithmetic`, traced once on a `Scalar` of that."""
    package: str = ""
    """What is imported for NumPy to know it: `ml_dtypes`."""
    api: int = API_VERSION

    @property
    def nbytes(self) -> int:
        """Bytes of one element in memory."""
        return self.bits // 8

    @property
    def is_stored(self) -> bool:
        """Whether it is only stored: casts and moves have it, arithmetic has not."""
        return bool(self.arithmetic)

    @property
    def is_float(self) -> bool:
        """Whether its values are floating-point numbers."""
        return self.dlpack not in (0, 1, 6)

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

    @property
    def python(self) -> str:
        """What names it in Python: `np.float32`, `ml_dtypes.bfloat16`."""
        # np.bool is the Python type before NumPy 2.
        return f"{self.package or 'np'}.{'bool_' if self.name == 'i1' else self.numpy}"

    def bits_of(self, value: float) -> int:
        """The bits of `value`, rounded to this dtype, as an unsigned integer."""
        return int(self._of(value).view(f"uint{self.bits}"))

    def rounded(self, value: float) -> float:
        """`value` as this dtype has it: too large is an infinity, where there is one."""
        return float(self._of(value))

    def _of(self, value: float) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(value, np.float64).astype(self.numpy)


_ARITHMETIC: Mapping[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("f32", "float32", "float", 2, 32, 1),
        DType("f64", "float64", "double", 2, 64, 11),
        DType("i8", "int8", "int8_t", 0, 8, 3),
        DType("i16", "int16", "int16_t", 0, 16, 5),
        DType("i32", "int32", "int32_t", 0, 32, 6),
        DType("i64", "int64", "int64_t", 0, 64, 7),
        DType("ui8", "uint8", "uint8_t", 1, 8, 2),
        DType("ui16", "uint16", "uint16_t", 1, 16, 4),
        DType("ui32", "uint32", "uint32_t", 1, 32, 12),
        DType("ui64", "uint64", "uint64_t", 1, 64, 13),
        DType("i1", "bool", "uint8_t", 6, 8, 9),
    )
}


MLIR_FLOATS = {
    "f16": 2,
    "bf16": 4,
    "f8E3M4": 7,
    "f8E4M3": 8,
    "f8E4M3B11FNUZ": 9,
    "f8E4M3FN": 10,
    "f8E4M3FNUZ": 11,
    "f8E5M2": 12,
    "f8E5M2FNUZ": 13,
    "f8E8M0FNU": 14,
}
"""MLIR's builtin types of floats of 8 and 16 bits, with DLPack's codes, as in runtime/c/dtypes.c."""


def _numpy_name(name: str) -> str:
    """What NumPy calls such a type: `float8_e4m3fn` is f8E4M3FN."""
    return {"f16": "float16", "bf16": "bfloat16"}.get(name, f"float8_{name[2:].lower()}")


def without_row(name: str) -> str:
    """What to do about a type of MLIR's that no row is there for; empty for any other."""
    if name not in MLIR_FLOATS or name in DTYPES:
        return ""
    return f"give its row by --load {name}.py (docs/extending.md)"


ARITHMETIC = tuple(_ARITHMETIC)
"""The names of those that one computes with."""


class _Dtypes(Mapping[str, DType]):
    """Those that one computes with, and those that are only stored."""

    def __getitem__(self, name: str) -> DType:
        if name in _ARITHMETIC:
            return _ARITHMETIC[name]
        if name not in STORED:
            raise KeyError(name)
        return STORED[name]

    def __contains__(self, name: object) -> bool:
        return name in _ARITHMETIC or name in STORED

    def __iter__(self) -> Iterator[str]:
        return iter([*_ARITHMETIC, *STORED])

    def __len__(self) -> int:
        return len(_ARITHMETIC) + len(STORED)


def _check(thing: object, name: str) -> None:
    """Raises UsageError for a row that is not sound."""
    begin = f"dtype '{name}'"
    if not isinstance(thing, DType):
        raise UsageError(f"{begin}: expected DTYPE to be a DType, found {type(thing).__name__}")
    if thing.name != name:
        raise UsageError(f"{begin}: expected the name of its file, found '{thing.name}'")
    if name in _ARITHMETIC:
        raise UsageError(f"{begin}: Inarch has a dtype of that name; rename the file")
    if name not in MLIR_FLOATS:
        raise UsageError(f"{begin}: expected a float type of MLIR: {', '.join(MLIR_FLOATS)}")
    by = _ARITHMETIC.get(thing.arithmetic)
    if by is None or not by.is_float:
        raise UsageError(
            f"{begin}: expected `arithmetic`, the float in which its values are computed with (f32 or f64), "
            f"found '{thing.arithmetic}'"
        )
    for field in ("widen", "narrow"):
        if not callable(getattr(thing, field)):
            raise UsageError(f"{begin}: expected `{field}`, of which its C is made; found none")
    stored = next((d for d in _ARITHMETIC.values() if (d.c, d.dlpack) == (thing.c, 1)), None)
    if stored is None or stored.bits != thing.bits:
        raise UsageError(
            f"{begin}: expected the C type of {thing.bits} bits without a sign, found '{thing.c}'"
        )
    _check_numpy(thing, begin)
    if thing.dlpack != MLIR_FLOATS[name]:
        raise UsageError(
            f"{begin}: expected DLPack's code {MLIR_FLOATS[name]}, found {thing.dlpack}"
        )


def _check_numpy(thing: DType, begin: str) -> None:
    """Raises UsageError for another dtype than NumPy's of that name, and where it is not there."""
    expected = _numpy_name(thing.name)
    if thing.numpy != expected:
        raise UsageError(f"{begin}: expected `numpy` = '{expected}', found '{thing.numpy}'")
    if thing.package:
        with needing(f"{begin} needs {thing.package}: pip install {thing.package}"):
            import_module(thing.package)
    try:
        bits = 8 * np.dtype(thing.numpy).itemsize
    except TypeError:
        raise UsageError(
            f"{begin}: expected `package`, by which NumPy knows {thing.numpy}: 'ml_dtypes'; found "
            f"'{thing.package}'"
        ) from None
    if bits != thing.bits:
        raise UsageError(f"{begin}: expected {bits} bits, found {thing.bits}")


STORED: Extensions[DType] = Extensions(
    "inarch.core.scalars", "DTYPE", entry_group="inarch.dtypes", check=_check
)
"""Dtypes that are only stored, by the name of the file."""

DTYPES: Mapping[str, DType] = _Dtypes()
"""By IR name."""


_BY_NUMPY = {row.numpy: row for row in _ARITHMETIC.values()}


def from_numpy(name: str) -> DType:
    """The dtype that NumPy calls `name` (`array.dtype.name`).

    >>> from_numpy("float32").c
    'float'
    """
    found = _BY_NUMPY.get(name) or next((row for row in _stored() if row.numpy == name), None)
    if found is None:
        known = ", ".join(row.numpy for row in DTYPES.values())
        raise UnsupportedError(f"dtype '{name}' is not supported; supported: {known}")
    return found


def from_dlpack(code: int, bits: int) -> DType | None:
    """The dtype of a DLDataType of one lane; None where there is none."""
    rows = chain(_ARITHMETIC.values(), _stored())
    return next((row for row in rows if (row.dlpack, row.bits) == (code, bits)), None)


def _stored() -> Iterator[DType]:
    return (row for _, row in STORED.working("no tensor has it"))


# ---------------------------------------------------------------------------------- floats in NumPy


def is_float_array(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of a NumPy dtype hold floats: NumPy has another kind for those of others."""
    if dtype.kind != "V":
        return dtype.kind == "f"
    return any(row.numpy == dtype.name for row in _stored())


@dataclass(frozen=True)
class Limits:
    """What a float can hold."""

    unit: float
    """The unit roundoff: half of the distance from 1 to the next number."""
    least: float
    """The smallest number above 0."""
    most: float
    """The largest finite number."""

    @property
    def normal(self) -> float:
        """The smallest number that has all bits."""
        return self.least / (2 * self.unit)


@lru_cache(maxsize=64)
def float_limits(dtype: np.dtype[Any]) -> Limits:
    """The limits of a NumPy dtype of floats; of one with at most 16 bits read off all its numbers."""
    if issubclass(dtype.type, np.floating):  # the kind of f8E5M2 is "f", too
        info = np.finfo(dtype)
        return Limits(float(info.eps) / 2, float(info.smallest_subnormal), float(info.max))
    every = np.arange(1 << (8 * dtype.itemsize), dtype=f"uint{8 * dtype.itemsize}")
    with np.errstate(invalid="ignore"):  # signalling NaN
        numbers: Array = every.view(dtype).astype(np.float64)
    finite = np.unique(numbers[np.isfinite(numbers)])
    return Limits(
        float(finite[finite > 1][0] - 1) / 2, float(finite[finite > 0][0]), float(finite[-1])
    )
