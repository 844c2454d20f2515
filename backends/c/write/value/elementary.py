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
from string import Template

from inarch.backends.c.write.value.fused import fused_body
from inarch.core.dtypes import DTYPES
from inarch.core.pieces import pieces
from inarch.core.scalars.functions import FUNCTIONS as ROWS


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


_FILES = "inarch.backends.c.write.value"
_LANES = pieces(_FILES, "lanes.c")
FUNCTIONS = {
    name: Template(text).substitute(
        exp_rest=exp_rest("12583166.0f", "x"), near_rest=exp_rest("12583039.0f", "x")
    )
    for name, text in pieces(_FILES, "elementary.c").items()
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
    for name, text in {**_LANES, **FUNCTIONS}.items():
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
    name.replace("_S", "_f32"): spelled(text, 0)
    for name, text in {**pieces(_FILES, "one.c"), **FUNCTIONS}.items()
}
"""Name -> C of one number: `inarch_exp_f32`, ..., and what they call, in order of dependence."""
