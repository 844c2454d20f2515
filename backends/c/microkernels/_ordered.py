"""The larger and the smaller of a vector and a constant in one instruction, in C for every compiler.

x86's maxps and minps give their second operand where either is NaN: with the constant first, x's NaN
stays, as Inarch's numerics want. Clang finds the instruction in a mask of compares; gcc 12 makes two or more
of it (measured: a depthwise 3x3 with relu6 falls from 96 % to 62 % of the FMA peak), so it gets the builtin.
"""

from __future__ import annotations

_BUILTINS = {
    # lanes: (what must be defined, the call)
    16: ("__AVX512F__", "__builtin_ia32_{}ps512_mask((constant), (x), (vec){{0}}, -1, 4)"),
    8: ("__AVX__", "__builtin_ia32_{}ps256((constant), (x))"),
    4: ("__SSE__", "__builtin_ia32_{}ps((constant), (x))"),
}


def ordered_macros(lanes: int) -> str:
    """C that defines INARCH_MAX_V<lanes>F32(constant, x) and INARCH_MIN_V<lanes>F32(constant, x).

    Both take names of `vec`s, a type of `lanes` f32 that they need where they are used. NaN in `x` stays;
    `constant` is no NaN. Text that stands twice in a unit does no harm.
    """
    defined, builtin = _BUILTINS[lanes]
    large = f"INARCH_MAX_V{lanes}F32(constant, x)"
    small = f"INARCH_MIN_V{lanes}F32(constant, x)"
    return f"""\
#if defined({defined}) && !defined(__clang__)
#define {large} ((vec){builtin.format("max")})
#define {small} ((vec){builtin.format("min")})
#else
#define {large} {_masked(">")}
#define {small} {_masked("<")}
#endif
"""


def _masked(sign: str) -> str:
    ints = f"(__typeof__((constant) {sign} (x)))"
    mask = f"((constant) {sign} (x))"
    return f"((vec)(({mask} & {ints}(constant)) | (~{mask} & {ints}(x))))"
