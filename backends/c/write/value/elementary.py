"""Our own functions of f32 in C (exp, log, tanh ...), and sqrt: of one number, and of all lanes of a vector.

Each is written once, in terms of `F`, `I` and `U` (a float, and the integers of its size, or vectors of them)
and of a few primitives that differ: so a lane of a vector and a number give the same bits. Without branches,
so that loops around those of a number vectorise too. What is one rounding, where the CPU can, is written so.

Accuracy, measured over random and special inputs by `tests/unit/backends/test_c_math.py`, with FMA and
without: exp 1.2 ulp, log 0.8, tanh 1.4, erf 1.5, expm1 1.7, log1p 1.0; 2 are promised of each. Coefficients
are our own minimax fits: Lawson's iteratively reweighted least squares of the relative error on 4000
Chebyshev nodes, in double precision, rounded to f32. The reductions of arguments are the usual ones (Cody and
Waite, Software Manual for the Elementary Functions, 1980).
"""

from __future__ import annotations

import re
from functools import cache

from inarch.backends.c.write.value.fused import fused_body
from inarch.backends.c.write.value.near_one import NEAR_ONE
from inarch.core.dtypes import DTYPES
from inarch.core.scalars.functions import FUNCTIONS as ROWS

_ONE = {
    "inarch_ints_S": """
static inline I inarch_ints_S(F x)
{
    I bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}
""",
    "inarch_floats_S": """
static inline F inarch_floats_S(I bits)
{
    F x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}
""",
    "inarch_select_S": """
static inline F inarch_select_S(I test, F a, F b)
{
    return test ? a : b;
}
""",
    "inarch_atmost_S": """
/* x where it is less than the bound, the bound where it is more; NaN stays. */
static inline F inarch_atmost_S(float bound, F x)
{
    return x > bound ? bound : x;
}
""",
    "inarch_bounded_S": """
/* The same of a positive bound, as integers: NaN, which may be the bound, else takes a comparison more. */
static inline F inarch_bounded_S(float bound, F x)
{
    const I bits = inarch_ints_S(x), limit = inarch_ints_S(bound);
    return inarch_floats_S(bits < limit ? bits : limit);
}
""",
    "inarch_size_S": """
static inline F inarch_size_S(F x)
{
    return __builtin_fabsf(x);
}
""",
    "inarch_signed_S": """
static inline F inarch_signed_S(F size, F sign)
{
    return __builtin_copysignf(size, sign);
}
""",
    "inarch_number_S": """
static inline F inarch_number_S(I x)
{
    return (float)x;
}
""",
}
"""The primitives of one number."""

_LANES = {
    "inarch_ints_S": """
INLINE I inarch_ints_S(F x)
{
    return (I)x;
}
""",
    "inarch_floats_S": """
INLINE F inarch_floats_S(I bits)
{
    return (F)bits;
}
""",
    "inarch_select_S": """
/* a where the test is all ones, b where it is 0: gcc 12 makes three instructions of the mask. */
INLINE F inarch_select_S(I test, F a, F b)
{
BLEND    return (F)((test & (I)a) | (~test & (I)b));
}
""",
    "inarch_atmost_S": """
/* x where it is less than the bound, the bound where it is more; NaN stays. */
INLINE F inarch_atmost_S(float bound, F x)
{
    const F limit = ALL(bound);
LEAST    return inarch_select_S(limit < x, limit, x);
}
""",
    "inarch_atleast_S": """
/* x where it is more than the bound, the bound where it is less; NaN stays. */
INLINE F inarch_atleast_S(float bound, F x)
{
    const F limit = ALL(bound);
MOST    return inarch_select_S(limit > x, limit, x);
}
""",
    "inarch_bounded_S": """
INLINE F inarch_bounded_S(float bound, F x)
{
    return inarch_atmost_S(bound, x);
}
""",
    "inarch_size_S": """
INLINE F inarch_size_S(F x)
{
    return (F)((I)x & 0x7fffffff);
}
""",
    "inarch_signed_S": """
INLINE F inarch_signed_S(F size, F sign)
{
    return (F)(((I)size & 0x7fffffff) | ((I)sign & (-0x7fffffff - 1)));
}
""",
    "inarch_number_S": """
INLINE F inarch_number_S(I x)
{
    return __builtin_convertvector(x, F);
}
""",
    "inarch_fma_S": """
INLINE F inarch_fma_S(F a, F b, F c)
{
FUSED}
""",
    "inarch_sqrt_S": """
INLINE F inarch_sqrt_S(F x)
{
SQRT    F y = x;
    for (int lane = 0; lane < LANES; lane++) {
        y[lane] = __builtin_sqrtf(x[lane]);
    }
    return y;
}
""",
}
"""The primitives of vectors, and sqrt, for which C has no operator."""


def exp_rest(zero: str, x: str, scale: str = "1.0f") -> str:
    """Statements that set p to e^r, times `scale`, where `shifted` is n + `zero`, and r is `x` - n ln 2."""
    coefficients = ("0.041666206f", "0.166665182f", "0.5f", "1.0f", "1.0f")
    times = "" if scale == "1.0f" else f"{scale} * "
    first = f"ALL({times}0.00139504916f), ALL({times}0.0083688898f)"
    return (
        f"    const F n = shifted - {zero};\n"
        "    const F r = inarch_fma_S(n, ALL(2.12194440e-4f), "
        f"inarch_fma_S(n, ALL(-0.693359375f), {x}));\n"
        f"    F p = inarch_fma_S(r, {first});\n"
    ) + "".join(f"    p = inarch_fma_S(p, r, ALL({times}{each}));\n" for each in coefficients)


FUNCTIONS = {
    "inarch_exp_S": """
/* e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2. At most 2 ulp, denormal results included. */
INLINE F inarch_exp_S(F x)
{
    /* Above 128 ln 2 it is r that grows, from x itself, and the result is infinite. */
    const F bounded = inarch_bounded_S(88.9f, x);
    const F shifted = inarch_fma_S(bounded, ALL(1.44269504f), ALL(12583166.0f)); /* n + 254 in the low bits */
    const U bits = (U)inarch_ints_S(shifted);
"""
    + exp_rest("12583166.0f", "x")
    + """    /* 2^n in two factors, (n + 254) >> 1 and the rest in their exponents: n reaches -150 and 128. */
    const U first = bits << 22 & 0xff800000u;
    const U second = (bits << 23) - first;
    const F y = p * inarch_floats_S((I)first) * inarch_floats_S((I)second);
    return inarch_select_S(x < -104.0f, ALL(0.0f), y); /* NaN stays */
}
""",
    "inarch_expnear_S": """
/* e^x of |x| <= 80, where 2^n is one factor. At most 2 ulp. */
INLINE F inarch_expnear_S(F x)
{
    const F shifted = inarch_fma_S(x, ALL(1.44269504f), ALL(12583039.0f)); /* n + 127 in the low bits */
"""
    + exp_rest("12583039.0f", "x")
    + """    return p * inarch_floats_S((I)((U)inarch_ints_S(shifted) << 23));
}
""",
    "inarch_logtail_S": """
/* log (1 + f) + e ln 2 without f and the first digits of e ln 2, of f in [sqrt(1/2) - 1, sqrt(2) - 1). */
INLINE F inarch_logtail_S(F f, F e)
{
    F p = inarch_fma_S(f, ALL(0.0674664006f), ALL(-0.116756521f));
    p = inarch_fma_S(p, f, ALL(0.11888162f));
    p = inarch_fma_S(p, f, ALL(-0.124055892f));
    p = inarch_fma_S(p, f, ALL(0.142195523f));
    p = inarch_fma_S(p, f, ALL(-0.166679963f));
    p = inarch_fma_S(p, f, ALL(0.200021192f));
    p = inarch_fma_S(p, f, ALL(-0.250000089f));
    p = inarch_fma_S(p, f, ALL(0.333333135f));
    const F s = f * f;
    /* The product with 0.5 is exact. */
    return inarch_fma_S(p * f, s, inarch_fma_S(e, ALL(-0.00021219254f), -0.5f * s));
}
""",
    "inarch_log_S": """
/* log x = e ln 2 + log m with m in [sqrt(1/2), sqrt(2)). At most 2 ulp, denormal x included. */
INLINE F inarch_log_S(F x)
{
    const F normal = inarch_select_S(x < 1.17549435e-38f, x * 33554432.0f, x); /* 2^25 */
    const F less = inarch_select_S(x < 1.17549435e-38f, ALL(25.0f), ALL(0.0f));
    const U shifted = (U)inarch_ints_S(normal) - 0x3f3504f3u; /* sqrt(1/2): the exponent of m is 0 or -1 */
    const U mantissa = (shifted & 0x007fffffu) + 0x3f3504f3u;
    const F f = inarch_floats_S((I)mantissa) - 1.0f;
    const F e = inarch_number_S((I)shifted >> 23) - less;
    const F y = inarch_fma_S(e, ALL(0.693359375f), f + inarch_logtail_S(f, e));
    const F positive = inarch_select_S(x < __builtin_inff(), y, x); /* +inf and NaN */
    const F finite = inarch_select_S(x == 0.0f, ALL(-__builtin_inff()), positive);
    return inarch_select_S(x < 0.0f, ALL(__builtin_nanf("")), finite);
}
""",
    "inarch_tanh_S": """
/* An odd polynomial below 0.625, 1 - 2 / (e^2|x| + 1) above. At most 2 ulp. */
INLINE F inarch_tanh_S(F x)
{
    const F a = inarch_size_S(x);
    const F z = x * x;
    F p = inarch_fma_S(z, ALL(-0.00570498733f), ALL(0.020639088f));
    p = inarch_fma_S(p, z, ALL(-0.0537397154f));
    p = inarch_fma_S(p, z, ALL(0.133314416f));
    p = inarch_fma_S(p, z, ALL(-0.333332807f));
    const F small = inarch_fma_S(p * z, x, x);
    /* 1 from 9.1 on */
    const F large = 1.0f - 2.0f / (inarch_expnear_S(inarch_atmost_S(20.0f, a + a)) + 1.0f);
    return inarch_signed_S(inarch_select_S(a < 0.625f, small, large), x); /* -0 stays */
}
""",
    "inarch_erf_S": """
/* An odd polynomial below 0.921875, 1 - e^-q(|x|) above. At most 2 ulp. */
INLINE F inarch_erf_S(F x)
{
    const F a = inarch_size_S(x);
    const F c = inarch_atmost_S(3.95f, a); /* erf is 1 from 3.92 on */
    const F z = c * c;
    F p = inarch_fma_S(z, ALL(8.37012776e-05f), ALL(-0.000814271218f));
    p = inarch_fma_S(p, z, ALL(0.00520103332f));
    p = inarch_fma_S(p, z, ALL(-0.0268593989f));
    p = inarch_fma_S(p, z, ALL(0.112836957f));
    p = inarch_fma_S(p, z, ALL(-0.376126349f));
    p = inarch_fma_S(p, z, ALL(0.128379166f));
    const F small = inarch_fma_S(p, x, x);
    F q = inarch_fma_S(c, ALL(2.11185034e-05f), ALL(-0.000434733782f));
    q = inarch_fma_S(q, c, ALL(0.00417237682f));
    q = inarch_fma_S(q, c, ALL(-0.0251228884f));
    q = inarch_fma_S(q, c, ALL(0.108285442f));
    q = inarch_fma_S(q, c, ALL(0.633342028f));
    q = inarch_fma_S(q, c, ALL(1.12951732f));
    q = inarch_fma_S(q, c, ALL(-0.000175184701f));
    const F large = inarch_signed_S(1.0f - inarch_expnear_S(-q), x);
    return inarch_select_S(a < 0.921875f, small, large);
}
""",
    **NEAR_ONE,
}
"""Each in terms of those before it."""

_KINDS = (("F", "float", "f32"), ("I", "int32_t", "i32"), ("U", "uint32_t", "u32"))

OURS = tuple(name for name, row in ROWS.items() if row.is_ours)
"""Functions of f32 that are our own; those of f64 are the C library's."""

TOGETHER = 4
"""Vectors of which `several.py` makes a function at once."""

VECTORS = tuple(name for name, row in ROWS.items() if row.has_vectors)
"""Those that there are for all lanes of a vector of f32 (`vector_name`)."""

_BLEND = {
    8: ("__AVX__", "__builtin_ia32_blendvps256(b, a, (F)test)"),
    4: ("__SSE4_1__", "__builtin_ia32_blendvps(b, a, (F)test)"),
}
_LEAST = {
    16: ("__AVX512F__", "__builtin_ia32_minps512_mask(limit, x, limit, -1, 4)"),
    8: ("__AVX__", "__builtin_ia32_minps256(limit, x)"),
    4: ("__SSE__", "__builtin_ia32_minps(limit, x)"),
}
"""Gives x where either is NaN."""
_MOST = {lanes: (defined, call.replace("min", "max")) for lanes, (defined, call) in _LEAST.items()}
_SQRT = {
    16: ("__AVX512F__", "__builtin_ia32_sqrtps512_mask(x, x, -1, 4)"),
    8: ("__AVX__", "__builtin_ia32_sqrtps256(x)"),
    4: ("__SSE__", "__builtin_ia32_sqrtps(x)"),
}
_ELEMENTWISE = """\
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(x);
#endif
#endif
"""


def vector_name(function: str, lanes: int) -> str:
    """What a function of `VECTORS` is called on so many lanes of f32: `inarch_exp_v8f32`."""
    return f"inarch_{function}_v{lanes}f32"


@cache
def vector_texts(lanes: int) -> dict[str, str]:
    """Name -> C of functions of `VECTORS` on so many lanes, and of what they call, callees first."""
    words = {
        "BLEND": _gcc(_BLEND, lanes),
        "LEAST": _gcc(_LEAST, lanes),
        "MOST": _gcc(_MOST, lanes),
        "SQRT": _gcc(_SQRT, lanes) + _ELEMENTWISE,
        "FUSED": fused_body(lanes, DTYPES["f32"], f"inarch_v{lanes}f32"),
        "LANES": str(lanes),
    }
    found: dict[str, str] = {}
    for name, text in (_LANES | FUNCTIONS).items():
        for word, meant in words.items():
            text = re.sub(rf"\b{word}\b", lambda _, meant=meant: meant, text)  # noqa: PLW2901
        found[vector_name(name.removeprefix("inarch_").removesuffix("_S"), lanes)] = spelled(
            text, lanes
        )
    return found


def vector_types(lanes: int) -> str:
    """C that declares the vectors of so many floats, and of integers of their size; twice does no harm."""
    size = f"__attribute__((vector_size({4 * lanes})))"
    types = (f"typedef {c} inarch_v{lanes}{dtype} {size};\n" for _, c, dtype in _KINDS)
    return "\n" + "".join(types)


def _gcc(table: dict[int, tuple[str, str]], lanes: int) -> str:
    """The instruction of x86 that gcc does not find: what is left is for other compilers and CPUs."""
    if lanes not in table:
        return ""
    defined, call = table[lanes]
    return f"#if defined({defined}) && !defined(__clang__)\n    return {call};\n#endif\n"


def spelled(text: str, lanes: int) -> str:
    """Text of this module in C, of a vector, or of one number (0 lanes)."""
    if lanes:
        words = {word: f"inarch_v{lanes}{dtype}" for word, _, dtype in _KINDS}
        kind = words["F"]
        suffix, inline = f"_v{lanes}f32", "static inline __attribute__((always_inline))"
    else:
        words = {word: c for word, c, _ in _KINDS}
        kind, suffix, inline = "", "_f32", "static inline"
    text = re.sub(
        r"\bALL\(((?:[^()]|\([^()]*\))*)\)", lambda found: _all(found[1], kind, lanes), text
    )
    text = re.sub(r"\b(inarch_\w+)_S\b", rf"\1{suffix}", text)
    for word, spelled in (words | {"INLINE": inline}).items():
        text = re.sub(rf"\b{word}\b", spelled, text)
    return text


def _all(value: str, kind: str, lanes: int) -> str:
    return f"({kind}){{{', '.join([value] * lanes)}}}" if lanes else value


SCALARS = {
    name.replace("_S", "_f32"): spelled(text, 0) for name, text in (_ONE | FUNCTIONS).items()
}
"""Name -> C of one number: `inarch_exp_f32`, ..., and what they call, in order of dependence."""
