"""x86-64-v4's code in instructions of x86-64-v3: runs where a CPU has no AVX-512.

Every choice is that of x86-64-v4: vectors of 64 bytes, 32 registers of them, kernels, tiles, sums in so many
parts. Only the C compiler is told of less, and makes two vectors of 32 bytes of each. What is compiled for it
needs no more than x86-64-v3, and says so; it is slow, and is never `native` unless INARCH_NATIVE names it.
"""

from dataclasses import replace

from inarch.machine.architecture import Features
from inarch.machine.targets.x86_64 import TARGET as X86_64

_LEVEL, _MARCH = "x86-64-v4-on-v3", "x86-64-v3"
_WIDE = X86_64.levels["x86-64-v4"]


def _vector_bytes(_: Features) -> int:
    return X86_64.vector_bytes(_WIDE)


def _vector_registers(_: Features) -> int:
    return X86_64.vector_registers(_WIDE)


def _flags(march: str, extras: tuple[str, ...], features: Features) -> list[str]:
    # gcc tells of arguments that would be passed otherwise with AVX-512; all such functions are inlined.
    # Its forward propagation of conversions of vectors that are wider than the CPU's ends in an internal
    # error (gcc 12, `convert_mode_scalar`); clang has no such option.
    propagation = ["-fno-tree-forwprop", "-Wno-ignored-optimization-argument"]
    return [*X86_64.flags(march, extras, features), "-Wno-psabi", *propagation]


TARGET = replace(
    X86_64,
    levels={_LEVEL: X86_64.levels[_MARCH]},
    march={_LEVEL: _MARCH},
    vector_bytes=_vector_bytes,
    vector_registers=_vector_registers,
    flags=_flags,
    machines=(),
)
