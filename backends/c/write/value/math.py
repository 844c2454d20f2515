"""Static C functions that expressions call: integers that never trap, our own exp, log ...

A unit gets only those that it uses (`helpers_text`). All are branch-free where it matters, so that loops
around them vectorise, and give the same result at every vector width. Functions of f32 are `elementary.py`'s;
everything else, sin, cos, pow and all of f64, is the C library's.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable

from inarch.backends.c.text import CALLS_LIBRARY
from inarch.backends.c.types import literal
from inarch.backends.c.write.transpose import HELPERS as TRANSPOSES
from inarch.backends.c.write.value.elementary import SCALARS
from inarch.backends.c.write.value.fused import fused_name, fused_text, scalar_text
from inarch.backends.c.write.value.narrow import converting_texts
from inarch.backends.c.write.value.ordered import ordered_texts
from inarch.backends.c.write.value.several import several_texts
from inarch.backends.c.write.value.stored import conversion_texts
from inarch.core.dtypes import DTYPES, DType
from inarch.core.pieces import filled

_FLOATS = (DTYPES["f32"], DTYPES["f64"])
_SIGNED = tuple(DTYPES[f"i{bits}"] for bits in (8, 16, 32, 64))
_UNSIGNED = tuple(DTYPES[f"ui{bits}"] for bits in (8, 16, 32, 64))


def _text(piece: str, dtype: DType, **values: object) -> str:
    return filled(
        "inarch.backends.c.write.value", "math.c", piece, kind=dtype.c, dtype=dtype.name, **values
    )


def _divide(dtype: DType, name: str, operator: str) -> str:
    """Division and remainder: by zero 0; the lowest by -1 wraps."""
    by_minus_one = ""
    if not dtype.is_unsigned:
        wide = "u" if dtype.bits <= 32 else "ull"
        unsigned = DTYPES[f"u{dtype.name}"].c
        result = f"({dtype.c})(0{wide} - ({unsigned})a)" if name == "div" else "0"
        by_minus_one = f"b == -1 ? {result} : "
    return _text("divide", dtype, name=name, operator=operator, by_minus_one=by_minus_one)


def _round_divide(dtype: DType, name: str) -> str:
    """Division towards minus (`floor`) or plus (`ceil`) infinity, on top of the guarded one."""
    plain = f"inarch_div_{dtype.name}(a, b)"
    if dtype.is_unsigned:
        adjust = f"{plain} + (b != 0 && a % b != 0)"
    else:
        differ = "(a < 0) != (b < 0)" if name == "floordiv" else "(a < 0) == (b < 0)"
        sign = "-" if name == "floordiv" else "+"
        adjust = f"{plain} {sign} (inarch_rem_{dtype.name}(a, b) != 0 && {differ})"
    return _text("round_divide", dtype, name=name, adjust=adjust)


def _convert(source: DType, target: DType) -> str:
    """Float to integer: towards zero, saturating, NaN to 0."""
    names = {"source": source.name, "number": source.c}
    suffix = "f" if source.bits == 32 else ""
    signed = not target.is_unsigned
    bits = target.bits - 1 if signed else target.bits
    high = f"{float(1 << bits)!r}{suffix}"
    low, least = (f"-{high}", f"INT{target.bits}_MIN") if signed else (f"0.0{suffix}", "0")
    most = f"INT{target.bits}_MAX" if signed else f"UINT{target.bits}_MAX"
    # gcc makes a truncation of a conversion there and back (match.pd, with -fno-trapping-math), which
    # would be -0 of what is above -1: no conversion may see such a number.
    zero = f"!(__builtin_fabs{suffix}(x) >= 1.0{suffix})" if signed else "x != x"
    if target.bits >= 32:
        return _text(
            "convert", target, zero=zero, high=high, most=most, low=low, least=least, **names
        )
    if not signed and source.bits == 32:
        # By the bits of f32, which are in order from 0 on: gcc 12 makes vectors of several in one loop.
        bits_of_top = int.from_bytes(struct.pack("<f", (1 << bits) - 1), "little")
        return _text("convert_narrow_unsigned", target, top=f"{bits_of_top:#x}", **names)
    # Its limits are floats: without branches gcc makes vectors of it.
    top = f"{float((1 << bits) - 1)!r}{suffix}"
    zero = f"__builtin_fabs{suffix}(x) >= 1.0{suffix}" if signed else f"x >= 1.0{suffix}"
    return _text("convert_narrow", target, zero=zero, top=top, low=low, **names)


def _count_bits(dtype: DType, name: str) -> str:
    builtin = {"ctlz": "clz", "cttz": "ctz", "ctpop": "popcount"}[name]
    value = f"(unsigned long long)({DTYPES[f'u{dtype.name}'].c})x"
    count = f"__builtin_{builtin}ll({value})"
    if name == "ctlz":
        count = f"x == 0 ? {dtype.bits} : {count} - {64 - dtype.bits}"
    elif name == "cttz":
        count = f"x == 0 ? {dtype.bits} : {count}"
    return _text("count_bits", dtype, name=name, count=count)


def _square_root_power(dtype: DType) -> str:
    """pow(x, 0.5), which gcc's vectoriser takes for a square root: of -inf that is NaN, of -0 -0."""
    suffix, infinity = "f" if dtype.bits == 32 else "", literal(float("inf"), dtype)
    return _text("square_root_power", dtype, suffix=suffix, infinity=infinity)


_SIGNS = {"max": ">", "min": "<"}
_LIMITS = {"raised": "<", "lowered": ">"}
"""One comparison, which gcc makes vectors of in chains where it does not of the two of `_SIGNS`."""
_QUOTIENTS = {"div": "/", "rem": "%"}
_INTEGERS = (*_SIGNED, *_UNSIGNED)

_HELPERS: dict[str, str] = {
    **TRANSPOSES,
    **{f"inarch_{name}": _text(name, DTYPES["i64"]) for name in ("pick", "place")},
    **{f"inarch_fma_{d.name}": scalar_text(d) for d in _FLOATS},
    **{fused_name(n, d): fused_text(n, d) for n in (2, 4, 8, 16) for d in _FLOATS},
    **SCALARS,
    **{
        f"inarch_{name}_{d.name}": _text(piece, d, name=name, sign=sign)
        for piece, signs in (("ordered", _SIGNS), ("bounded", _LIMITS))
        for name, sign in signs.items()
        for d in _FLOATS
    },
    **{
        f"inarch_{n}_{d.name}": _divide(d, n, op) for n, op in _QUOTIENTS.items() for d in _INTEGERS
    },
    **{f"inarch_floordiv_{d.name}": _round_divide(d, "floordiv") for d in _SIGNED},
    **{f"inarch_ceildiv_{d.name}": _round_divide(d, "ceildiv") for d in _INTEGERS},
    **{
        f"inarch_{source.name}_to_{target.name}": _convert(source, target)
        for source in _FLOATS
        for target in _INTEGERS
    },
    **{f"inarch_pow_half_{d.name}": _square_root_power(d) for d in _FLOATS},
    **{
        f"inarch_ipow_{d.name}": _text(
            "integer_power", d, wide="uint32_t" if d.bits <= 32 else "uint64_t"
        )
        for d in _SIGNED
    },
    **{
        f"inarch_bits_{source.name}_to_{target.name}": _text(
            "bitcast", target, source=source.name, number=source.c
        )
        for pair in ((DTYPES["f32"], DTYPES["i32"]), (DTYPES["f64"], DTYPES["i64"]))
        for source, target in (pair, pair[::-1])
    },
    **{
        f"inarch_{name}_{d.name}": _count_bits(d, name)
        for name in ("ctlz", "cttz", "ctpop")
        for d in _SIGNED
    },
}


def _lanes(name: str) -> int:
    """The lanes of a helper of vectors: 8 of `inarch_exp_v8f32`."""
    found = re.search(r"_v(\d+)b?f\d+(?:_x\d)?$", name, re.IGNORECASE)
    assert found is not None, name
    return int(found[1])


def helpers_text(names: Iterable[str]) -> str:
    """The C of the helpers `names` and of those that they call, each once, callees first."""
    wanted = set(names)
    # Those of vectors are spelled for the lanes that are asked for: all would take each process 20 ms.
    table = dict(_HELPERS)
    if wanted - table.keys():
        table |= conversion_texts()
    for name in sorted(wanted - table.keys(), key=lambda name: (_lanes(name), name)):
        lanes = _lanes(name)
        if name.isupper():
            table |= ordered_texts(lanes) | converting_texts(lanes)
        else:
            table |= several_texts(lanes)
            wanted.add(f"inarch_types_v{lanes}f32")
    pending = list(wanted)
    while pending:
        text = table[pending.pop()]
        for other in table:
            if other not in wanted and f"{other}(" in text:
                wanted.add(other)
                pending.append(other)
    # The table is in order of dependence.
    return "".join(text for name, text in table.items() if name in wanted)


def helpers_in(text: str) -> set[str]:
    """The helpers that C calls."""
    return set(
        re.findall(r"\b(inarch_\w+|INARCH_(?:FMA|MAXIMUM|MINIMUM|WIDEN|NARROW)_\w+)(?=\()", text)
    )


def with_own_helpers(helpers: Iterable[str], text: str, owner: str) -> str:
    """`text` after the helpers that it calls, all called after `owner`: a unit may have several such texts.

    It needs no header: what is the C library's is the compiler's builtin.
    """
    found = CALLS_LIBRARY.sub(r"__builtin_\1(", helpers_text(helpers) + text)
    return re.sub(r"\binarch_", f"{owner}_", found)
