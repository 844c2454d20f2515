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
from inarch.backends.c.write.value.ordered import ordered_texts
from inarch.backends.c.write.value.several import several_texts
from inarch.backends.c.write.value.stored import conversion_texts
from inarch.core.dtypes import DTYPES, DType

_FLOATS = (DTYPES["f32"], DTYPES["f64"])
_SIGNED = tuple(DTYPES[f"i{bits}"] for bits in (8, 16, 32, 64))
_UNSIGNED = tuple(DTYPES[f"ui{bits}"] for bits in (8, 16, 32, 64))


def _ordered(dtype: DType, name: str, sign: str) -> str:
    kind = dtype.c
    return f"""
static inline {kind} inarch_{name}_{dtype.name}({kind} a, {kind} b)
{{
    return ((a {sign} b) | (a != a)) ? a : b; /* NaN when either is */
}}
"""


def _bounded(dtype: DType, name: str, sign: str) -> str:
    """One comparison, which gcc makes vectors of in chains where it does not of the two of `_ordered`."""
    kind = dtype.c
    return f"""
static inline {kind} inarch_{name}_{dtype.name}({kind} x, {kind} bound)
{{
    return x {sign} bound ? bound : x; /* NaN stays, and a zero its sign; the bound is a number */
}}
"""


def _divide(dtype: DType, name: str, operator: str) -> str:
    """Division and remainder: by zero 0; the lowest by -1 wraps."""
    kind, title = dtype.c, f"inarch_{name}_{dtype.name}"
    by_minus_one = ""
    if not dtype.is_unsigned:
        wide = "u" if dtype.bits <= 32 else "ull"
        result = f"({kind})(0{wide} - ({DTYPES[f'u{dtype.name}'].c})a)" if name == "div" else "0"
        by_minus_one = f"b == -1 ? {result} : "
    return f"""
static inline {kind} {title}({kind} a, {kind} b)
{{
    return b == 0 ? 0 : {by_minus_one}({kind})(a {operator} b); /* never traps */
}}
"""


def _round_divide(dtype: DType, name: str) -> str:
    """Division towards minus (`floor`) or plus (`ceil`) infinity, on top of the guarded one."""
    kind, title = dtype.c, f"inarch_{name}_{dtype.name}"
    plain = f"inarch_div_{dtype.name}(a, b)"
    if dtype.is_unsigned:
        adjust = f"{plain} + (b != 0 && a % b != 0)"
    else:
        differ = "(a < 0) != (b < 0)" if name == "floordiv" else "(a < 0) == (b < 0)"
        sign = "-" if name == "floordiv" else "+"
        adjust = f"{plain} {sign} (inarch_rem_{dtype.name}(a, b) != 0 && {differ})"
    return f"""
static inline {kind} {title}({kind} a, {kind} b)
{{
    return ({kind})({adjust});
}}
"""


def _convert(source: DType, target: DType) -> str:
    """Float to integer: towards zero, saturating, NaN to 0."""
    suffix = "f" if source.bits == 32 else ""
    signed = not target.is_unsigned
    bits = target.bits - 1 if signed else target.bits
    high = f"{float(1 << bits)!r}{suffix}"
    low, least = (f"-{high}", f"INT{target.bits}_MIN") if signed else (f"0.0{suffix}", "0")
    most = f"INT{target.bits}_MAX" if signed else f"UINT{target.bits}_MAX"
    # gcc makes a truncation of a conversion there and back (match.pd, with -fno-trapping-math), which
    # would be -0 of what is above -1: no conversion may see such a number.
    zero = f"!(__builtin_fabs{suffix}(x) >= 1.0{suffix})" if signed else "x != x"
    if target.bits < 32:  # its limits are floats: without branches gcc makes vectors of it
        top = f"{float((1 << bits) - 1)!r}{suffix}"
        if not signed and source.bits == 32:
            return _to_narrow_unsigned(source, target)
        zero = f"__builtin_fabs{suffix}(x) >= 1.0{suffix}" if signed else f"x >= 1.0{suffix}"
        return f"""
static inline int32_t inarch_{source.name}_to_{target.name}({source.c} x)
{{
    const {source.c} some = {zero} ? x : 0; /* NaN is 0 */
    const {source.c} most = some > {top} ? {top} : some;
    return (int32_t)(most < {low} ? {low} : most); /* saturates */
}}
"""
    return f"""
static inline {target.c} inarch_{source.name}_to_{target.name}({source.c} x)
{{
    if ({zero}) {{
        return 0;
    }}
    return x >= {high} ? {most} : x <= {low} ? {least} : ({target.c})x; /* saturates */
}}
"""


def _to_narrow_unsigned(source: DType, target: DType) -> str:
    """The same by the bits of f32, in order from 0 on: gcc 12 makes vectors of several in one loop."""
    top = int.from_bytes(struct.pack("<f", (1 << target.bits) - 1), "little")
    return f"""
static inline int32_t inarch_{source.name}_to_{target.name}({source.c} x)
{{
    int32_t bits;
    {source.c} most;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits &= -(x >= 1.0f); /* NaN is 0 */
    bits = bits < {top:#x} ? bits : {top:#x}; /* saturates */
    __builtin_memcpy(&most, &bits, sizeof most);
    return (int32_t)most;
}}
"""


def _integer_power(dtype: DType) -> str:
    kind, wide = dtype.c, "uint32_t" if dtype.bits <= 32 else "uint64_t"
    return f"""
static inline {kind} inarch_ipow_{dtype.name}({kind} base, {kind} exponent)
{{
    if (exponent < 0) {{
        return ({kind})(base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0);
    }}
    {wide} result = 1, factor = ({wide})base;
    for ({kind} n = exponent; n > 0; n = ({kind})(n >> 1)) {{
        result = n & 1 ? ({wide})(result * factor) : result;
        factor = ({wide})(factor * factor);
    }}
    return ({kind})result;
}}
"""


def _bitcast(source: DType, target: DType) -> str:
    return f"""
static inline {target.c} inarch_bits_{source.name}_to_{target.name}({source.c} x)
{{
    {target.c} result;
    __builtin_memcpy(&result, &x, sizeof(result));
    return result;
}}
"""


def _count_bits(dtype: DType, name: str) -> str:
    builtin = {"ctlz": "clz", "cttz": "ctz", "ctpop": "popcount"}[name]
    value = f"(unsigned long long)({DTYPES[f'u{dtype.name}'].c})x"
    count = f"__builtin_{builtin}ll({value})"
    if name == "ctlz":
        count = f"x == 0 ? {dtype.bits} : {count} - {64 - dtype.bits}"
    elif name == "cttz":
        count = f"x == 0 ? {dtype.bits} : {count}"
    return f"""
static inline {dtype.c} inarch_{name}_{dtype.name}({dtype.c} x)
{{
    return ({dtype.c})({count});
}}
"""


_PICK = """
/* What an index names of size elements: a negative one counts from the end, any other is the nearest. */
static inline int64_t inarch_pick(int64_t index, int64_t size)
{
    const int64_t counted = index < 0 ? index + size : index;
    return counted < 0 ? 0 : counted < size ? counted : size - 1;
}
"""

_PLACE = """
/* Which of size elements an index names: a negative one counts from the end; -1 where it names none. */
static inline int64_t inarch_place(int64_t index, int64_t size)
{
    const int64_t place = index < 0 ? index + size : index;
    return place < 0 || place >= size ? -1 : place;
}
"""


def _square_root_power(dtype: DType) -> str:
    """pow(x, 0.5), which gcc's vectoriser takes for a square root: of -inf that is NaN, of -0 -0."""
    kind, suffix, infinity = dtype.c, "f" if dtype.bits == 32 else "", literal(float("inf"), dtype)
    return f"""
static inline {kind} inarch_pow_half_{dtype.name}({kind} x)
{{
    return x == -{infinity} ? {infinity} : sqrt{suffix}(x + 0.0{suffix});
}}
"""


_HELPERS: dict[str, str] = {
    **TRANSPOSES,
    "inarch_pick": _PICK,
    "inarch_place": _PLACE,
    **{f"inarch_fma_{d.name}": scalar_text(d) for d in _FLOATS},
    **{fused_name(n, d): fused_text(n, d) for n in (2, 4, 8, 16) for d in _FLOATS},
    **SCALARS,
    **{f"inarch_max_{d.name}": _ordered(d, "max", ">") for d in _FLOATS},
    **{f"inarch_min_{d.name}": _ordered(d, "min", "<") for d in _FLOATS},
    **{f"inarch_raised_{d.name}": _bounded(d, "raised", "<") for d in _FLOATS},
    **{f"inarch_lowered_{d.name}": _bounded(d, "lowered", ">") for d in _FLOATS},
    **{f"inarch_div_{d.name}": _divide(d, "div", "/") for d in (*_SIGNED, *_UNSIGNED)},
    **{f"inarch_rem_{d.name}": _divide(d, "rem", "%") for d in (*_SIGNED, *_UNSIGNED)},
    **{f"inarch_floordiv_{d.name}": _round_divide(d, "floordiv") for d in _SIGNED},
    **{f"inarch_ceildiv_{d.name}": _round_divide(d, "ceildiv") for d in (*_SIGNED, *_UNSIGNED)},
    **{
        f"inarch_{source.name}_to_{target.name}": _convert(source, target)
        for source in _FLOATS
        for target in (*_SIGNED, *_UNSIGNED)
    },
    **{f"inarch_pow_half_{d.name}": _square_root_power(d) for d in _FLOATS},
    **{f"inarch_ipow_{d.name}": _integer_power(d) for d in _SIGNED},
    **{
        f"inarch_bits_{source.name}_to_{target.name}": _bitcast(source, target)
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
    found = re.search(r"_v(\d+)f\d+(?:_x\d)?$", name, re.IGNORECASE)
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
            table |= ordered_texts(lanes)
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
    return set(re.findall(r"\b(inarch_\w+|INARCH_(?:FMA|MAXIMUM|MINIMUM)_\w+)(?=\()", text))


def with_own_helpers(helpers: Iterable[str], text: str, owner: str) -> str:
    """`text` after the helpers that it calls, all called after `owner`: a unit may have several such texts.

    It needs no header: what is the C library's is the compiler's builtin.
    """
    found = CALLS_LIBRARY.sub(r"__builtin_\1(", helpers_text(helpers) + text)
    return re.sub(r"\binarch_", f"{owner}_", found)
