"""Static C functions that expressions call: integers that never trap, our own exp, log, tanh, erf.

A unit gets only those that it uses (`helpers_text`). All are branch-free where it matters, so that loops
around them vectorise, and give the same result at every vector width.

Accuracy in f32, measured over random and special inputs by `tests/unit/backends/test_c_math.py`, with FMA and
without: exp 1.2 ulp, log 0.8, tanh 1.4, erf 1.5; 2 are promised of each. Coefficients are our own minimax
fits: Lawson's iteratively reweighted least squares of the relative error on 4000 Chebyshev nodes, in double
precision, rounded to f32. The reductions of arguments are the usual ones (Cody and Waite, Software Manual
for the Elementary Functions, 1980). Everything else, sin, cos, pow and all of f64, is the C library's.
"""

from __future__ import annotations

from collections.abc import Iterable

from inarch.backends.c.write.transpose import HELPERS as TRANSPOSES
from inarch.core.dtypes import DTYPES, DType

_FLOATS = (DTYPES["f32"], DTYPES["f64"])
_SIGNED = tuple(DTYPES[f"i{bits}"] for bits in (8, 16, 32, 64))
_UNSIGNED = tuple(DTYPES[f"ui{bits}"] for bits in (8, 16, 32, 64))

_EXP = """
/* e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2. At most 2 ulp, denormal results included. */
static inline float inarch_exp_f32(float x)
{
    /* Above 128 ln 2 it is r that grows, from x itself, and the result is infinite. Bounded as an integer: a
       float's bound, which NaN must pass, is a comparison and a selection. */
    int32_t ordered;
    __builtin_memcpy(&ordered, &x, 4);
    ordered = ordered < 0x42b1cccd ? ordered : 0x42b1cccd; /* 88.9 */
    float bounded;
    __builtin_memcpy(&bounded, &ordered, 4);
    const float shifted = bounded * 1.44269504f + 12583166.0f; /* n + 254 in the low bits */
    uint32_t bits;
    __builtin_memcpy(&bits, &shifted, 4);
    const float n = shifted - 12583166.0f;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 0.00139504916f;
    p = p * r + 0.0083688898f;
    p = p * r + 0.041666206f;
    p = p * r + 0.166665182f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    /* 2^n in two factors, (n + 254) >> 1 and the rest in their exponents: n reaches -150 and 128. */
    const uint32_t first = bits << 22 & 0xff800000u;
    const uint32_t second = (bits << 23) - first;
    float scale, rest;
    __builtin_memcpy(&scale, &first, 4);
    __builtin_memcpy(&rest, &second, 4);
    const float y = p * scale * rest;
    return x < -104.0f ? 0.0f : y; /* NaN stays */
}
"""

_LOG = """
/* log x = e ln 2 + log m with m in [sqrt(1/2), sqrt(2)). At most 2 ulp, denormal x included. */
static inline float inarch_log_f32(float x)
{
    const int denormal = x < 1.17549435e-38f;
    const float normal = denormal ? x * 33554432.0f : x; /* 2^25 */
    uint32_t bits;
    __builtin_memcpy(&bits, &normal, 4);
    const uint32_t shifted = bits - 0x3f3504f3u; /* sqrt(1/2): the exponent of m is 0 or -1 */
    const int32_t exponent = ((int32_t)shifted >> 23) - (denormal ? 25 : 0);
    const uint32_t mantissa = (shifted & 0x007fffffu) + 0x3f3504f3u;
    float m;
    __builtin_memcpy(&m, &mantissa, 4);
    const float f = m - 1.0f;
    const float e = (float)exponent;
    float p = 0.0674664006f;
    p = p * f - 0.116756521f;
    p = p * f + 0.11888162f;
    p = p * f - 0.124055892f;
    p = p * f + 0.142195523f;
    p = p * f - 0.166679963f;
    p = p * f + 0.200021192f;
    p = p * f - 0.250000089f;
    p = p * f + 0.333333135f;
    const float s = f * f;
    const float tail = p * f * s + e * -2.12194440e-4f - 0.5f * s;
    const float y = (f + tail) + e * 0.693359375f;
    const float positive = x < __builtin_inff() ? y : x; /* +inf and NaN */
    const float finite = x == 0.0f ? -__builtin_inff() : positive;
    return x < 0.0f ? __builtin_nanf("") : finite;
}
"""

_TANH = """
/* An odd polynomial below 0.625, 1 - 2 / (e^2|x| + 1) above. At most 2 ulp. */
static inline float inarch_tanh_f32(float x)
{
    const float a = __builtin_fabsf(x);
    const float z = x * x;
    float p = -0.00570498733f;
    p = p * z + 0.020639088f;
    p = p * z - 0.0537397154f;
    p = p * z + 0.133314416f;
    p = p * z - 0.333332807f;
    const float small = p * z * x + x;
    const float large = 1.0f - 2.0f / (inarch_exp_f32(a + a) + 1.0f);
    return __builtin_copysignf(a < 0.625f ? small : large, x); /* -0 stays */
}
"""

_ERF = """
/* An odd polynomial below 0.921875, 1 - e^-q(|x|) above. At most 2 ulp. */
static inline float inarch_erf_f32(float x)
{
    const float a = __builtin_fabsf(x);
    const float c = a > 3.95f ? 3.95f : a; /* erf is 1 from 3.92 on; NaN passes */
    const float z = c * c;
    float p = 8.37012776e-05f;
    p = p * z - 0.000814271218f;
    p = p * z + 0.00520103332f;
    p = p * z - 0.0268593989f;
    p = p * z + 0.112836957f;
    p = p * z - 0.376126349f;
    p = p * z + 0.128379166f;
    const float small = p * x + x;
    float q = 2.11185034e-05f;
    q = q * c - 0.000434733782f;
    q = q * c + 0.00417237682f;
    q = q * c - 0.0251228884f;
    q = q * c + 0.108285442f;
    q = q * c + 0.633342028f;
    q = q * c + 1.12951732f;
    q = q * c - 0.000175184701f;
    const float large = 1.0f - inarch_exp_f32(-q);
    return a < 0.921875f ? small : __builtin_copysignf(large, x);
}
"""


def _ordered(dtype: DType, name: str, sign: str) -> str:
    kind = dtype.c
    return f"""
static inline {kind} inarch_{name}_{dtype.name}({kind} a, {kind} b)
{{
    return ((a {sign} b) | (a != a)) ? a : b; /* NaN when either is */
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
    return f"""
static inline {target.c} inarch_{source.name}_to_{target.name}({source.c} x)
{{
    if ({zero}) {{
        return 0;
    }}
    return x >= {high} ? {most} : x <= {low} ? {least} : ({target.c})x; /* saturates */
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

_HELPERS: dict[str, str] = {
    **TRANSPOSES,
    "inarch_pick": _PICK,
    "inarch_place": _PLACE,
    "inarch_exp_f32": _EXP,
    "inarch_log_f32": _LOG,
    "inarch_tanh_f32": _TANH,
    "inarch_erf_f32": _ERF,
    **{f"inarch_max_{d.name}": _ordered(d, "max", ">") for d in _FLOATS},
    **{f"inarch_min_{d.name}": _ordered(d, "min", "<") for d in _FLOATS},
    **{f"inarch_div_{d.name}": _divide(d, "div", "/") for d in (*_SIGNED, *_UNSIGNED)},
    **{f"inarch_rem_{d.name}": _divide(d, "rem", "%") for d in (*_SIGNED, *_UNSIGNED)},
    **{f"inarch_floordiv_{d.name}": _round_divide(d, "floordiv") for d in _SIGNED},
    **{f"inarch_ceildiv_{d.name}": _round_divide(d, "ceildiv") for d in (*_SIGNED, *_UNSIGNED)},
    **{
        f"inarch_{source.name}_to_{target.name}": _convert(source, target)
        for source in _FLOATS
        for target in (*_SIGNED, *_UNSIGNED)
    },
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


def helpers_text(names: Iterable[str]) -> str:
    """The C of the helpers `names` and of those that they call, each once, callees first."""
    wanted = set(names)
    pending = list(wanted)
    while pending:
        text = _HELPERS[pending.pop()]
        for other in _HELPERS:
            if other not in wanted and f"{other}(" in text:
                wanted.add(other)
                pending.append(other)
    # The table is in order of dependence.
    return "".join(text for name, text in _HELPERS.items() if name in wanted)
