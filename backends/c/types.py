"""Types and literals of C for element types of the IR."""

from __future__ import annotations

import math
import struct

from xdsl.ir import Attribute

from inarch.core.dtypes import DTYPES, DType
from inarch.ir.types import dtype_of, i1


def element(kind: Attribute) -> DType:
    """The dtype of a scalar of the IR (`index` is i64)."""
    return dtype_of(kind)


def unsigned(dtype: DType) -> DType:
    """The unsigned dtype of the same width; i1 is its own."""
    return dtype if dtype.is_unsigned else DTYPES[f"u{dtype.name}"]


def is_bool(kind: Attribute) -> bool:
    """Whether it is `i1`."""
    return kind == i1


def literal(value: float, dtype: DType) -> str:
    """`value` as a C constant of `dtype`, exactly; negative ones in parentheses."""
    if dtype.is_stored:
        return f"{dtype.bits_of(value):#x}"
    if dtype.is_float:
        return _float_literal(float(value), dtype)
    number = int(value)
    if dtype.name == "i1":
        return str(number & 1)
    low = -(1 << (dtype.bits - 1))
    if (
        number == low and dtype.bits >= 32
    ):  # -2147483648 is unary minus on a number that has no type
        return f"({low + 1} - 1)"
    return f"({number})" if number < 0 else str(number)


def _float_literal(value: float, dtype: DType) -> str:
    single = dtype.bits == 32
    suffix = "f" if single else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    text = (
        f"__builtin_inf{suffix}()" if math.isinf(value) else _shortest(abs(value), single) + suffix
    )
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def _shortest(value: float, single: bool) -> str:
    """The shortest decimal that reads back as `value`."""
    if not single:
        text = repr(value)
    else:
        rounded = _as_f32(value)
        candidates = (f"{rounded:.{digits}g}" for digits in range(1, 10))
        text = next(t for t in candidates if _as_f32(float(t)) == rounded)
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def _as_f32(value: float) -> float:
    """`value` rounded to single precision; too large is an infinity."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
