"""The larger or smaller of two vectors of floats, NaN where either is, in two or three instructions of x86.

C has no `?:` on vectors; written as a mask of compares, gcc 12 makes seven instructions of it that wait for
each other (measured: the maximum of 1536 rows of 128 f32 takes twice the time). maxps and minps give
their second operand where either is NaN, so only a NaN of the first one is lost: with AVX-512 such a lane is
masked and stays, else it is blended. Other compilers and CPUs get the mask.

With a number on one side it is one instruction: the number is the first operand, so that NaN stays (`BOUNDS`;
measured: a depthwise 3x3 with relu6 falls from 96 % to 62 % of the FMA peak with the mask). Of zeros of both
signs it is the other operand's.
"""

from __future__ import annotations

from inarch.core.dtypes import DTYPES, DType
from inarch.core.scalars.functions import ORDERS

BOUNDS = {"max": "atleast", "min": "atmost"}
"""The same of a number that is not NaN and of vectors of f32: the function of `elementary.py`."""


def ordered_name(function: str, lanes: int, dtype: DType) -> str:
    """The macro `NAME(a, b, kind, ints)` of two vectors of type `kind`, `function` is max or min.

    `ints` are the integers of their size; all arguments are names.
    """
    return f"INARCH_{function.upper()}IMUM_V{lanes}{dtype.name.upper()}"


def ordered_texts(lanes: int) -> dict[str, str]:
    """`ordered_name` -> C that defines it. Text that stands twice in a unit does no harm."""
    return {
        ordered_name(function, lanes, DTYPES[dtype]): _text(function, lanes, DTYPES[dtype])
        for function in ORDERS
        for dtype in ("f32", "f64")
    }


def _text(function: str, lanes: int, dtype: DType) -> str:
    name = ordered_name(function, lanes, dtype)
    mask = f"(ints)(((a) {ORDERS[function]} (b)) | ((a) != (a)))"
    portable = f"((kind)(({mask} & (ints)(a)) | (~{mask} & (ints)(b))))"
    found = _builtin(function, lanes * dtype.nbytes, "ps" if dtype.bits == 32 else "pd")
    if found is None:
        return f"#define {name}(a, b, kind, ints) {portable}\n"
    defined, call = found
    return (
        f"#if defined({defined}) && !defined(__clang__)\n"
        # An unused type is a warning.
        f"#define {name}(a, b, kind, ints) ((void)sizeof(ints), (kind){call})\n"
        "#else\n"
        f"#define {name}(a, b, kind, ints) {portable}\n"
        "#endif\n"
    )


def _builtin(function: str, nbytes: int, kind: str) -> tuple[str, str] | None:
    """What must be defined, and gcc's builtins for vectors of so many bytes."""
    name = "__builtin_ia32_"
    if nbytes == 64:
        kept = f"{name}cmp{kind}512_mask((a), (a), 7, -1, 4)"
        return "__AVX512F__", f"{name}{function}{kind}512_mask((a), (b), (a), {kept}, 4)"
    if nbytes == 32:
        lost = f"{name}cmp{kind}256((a), (a), 3)"
        larger = f"{name}{function}{kind}256((a), (b))"
        return "__AVX__", f"{name}blendv{kind}256({larger}, (a), {lost})"
    if nbytes == 16:
        lost = f"{name}cmpunord{kind}((a), (a))"
        return "__SSE4_1__", f"{name}blendv{kind}({name}{function}{kind}((a), (b)), (a), {lost})"
    return None
