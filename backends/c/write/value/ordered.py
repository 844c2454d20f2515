"""The larger or smaller of two vectors of floats, NaN where either is, in two or three instructions of x86.

C has no `?:` on vectors; written as a mask of compares, gcc 12 makes seven instructions of it that wait for
each other (measured: the maximum of 1536 rows of 128 f32 takes twice the time). maxps and minps give
their second operand where either is NaN, so only a NaN of the first one is lost: with AVX-512 such a lane is
masked and stays, else it is blended. Other compilers and CPUs get the mask.
"""

from __future__ import annotations

from inarch.core.dtypes import DType

_SIGNS = {"max": ">", "min": "<"}


def ordered_macro(function: str, lanes: int, dtype: DType) -> tuple[str, str]:
    """A name, and C that defines it: `NAME(a, b, kind, ints)` of two vectors of type `kind`.

    `ints` are the integers of their size, `function` is max or min; all arguments are names. Text that stands
    twice in a unit does no harm.
    """
    name = f"INARCH_{function.upper()}IMUM_V{lanes}{dtype.name.upper()}"
    mask = f"(ints)(((a) {_SIGNS[function]} (b)) | ((a) != (a)))"
    portable = f"((kind)(({mask} & (ints)(a)) | (~{mask} & (ints)(b))))"
    found = _builtin(function, lanes * dtype.nbytes, "ps" if dtype.bits == 32 else "pd")
    if found is None:
        return name, f"#define {name}(a, b, kind, ints) {portable}\n"
    defined, call = found
    return name, (
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
