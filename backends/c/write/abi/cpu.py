"""C that asks an x86-64 CPU for features: `bind` refuses before the first instruction that it lacks.

Where a feature is reported: Intel's Software Developer's Manual, volume 2, CPUID; which registers the
system must keep for it (XCR0): volume 1, 13.3. Both hold for AMD as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from inarch.backends.c.text import string
from inarch.backends.c.write.abi.library_text import abi_text

_AVX, _AVX512, _AMX = 0x6, 0xE6, 0x60000
_B, _C, _D = 1, 2, 3
"""EBX, ECX, EDX; EAX is 0."""

CPUID: dict[str, tuple[int, int, int, int, int]] = {
    "sse3": (1, 0, _C, 0, 0),
    "ssse3": (1, 0, _C, 9, 0),
    "fma": (1, 0, _C, 12, _AVX),
    "cx16": (1, 0, _C, 13, 0),
    "sse4.1": (1, 0, _C, 19, 0),
    "sse4.2": (1, 0, _C, 20, 0),
    "movbe": (1, 0, _C, 22, 0),
    "popcnt": (1, 0, _C, 23, 0),
    "avx": (1, 0, _C, 28, _AVX),
    "f16c": (1, 0, _C, 29, _AVX),
    "sahf": (0x80000001, 0, _C, 0, 0),
    "lzcnt": (0x80000001, 0, _C, 5, 0),
    "bmi": (7, 0, _B, 3, 0),
    "avx2": (7, 0, _B, 5, _AVX),
    "bmi2": (7, 0, _B, 8, 0),
    "avx512f": (7, 0, _B, 16, _AVX512),
    "avx512dq": (7, 0, _B, 17, _AVX512),
    "avx512ifma": (7, 0, _B, 21, _AVX512),
    "avx512cd": (7, 0, _B, 28, _AVX512),
    "avx512bw": (7, 0, _B, 30, _AVX512),
    "avx512vl": (7, 0, _B, 31, _AVX512),
    "avx512vbmi": (7, 0, _C, 1, _AVX512),
    "avx512vnni": (7, 0, _C, 11, _AVX512),
    "amx-bf16": (7, 0, _D, 22, _AMX),
    "avx512fp16": (7, 0, _D, 23, _AVX512),
    "amx-tile": (7, 0, _D, 24, _AMX),
    "amx-int8": (7, 0, _D, 25, _AMX),
    "avxvnni": (7, 1, 0, 4, _AVX),
    "avx512bf16": (7, 1, 0, 5, _AVX512),
}
"""Feature -> leaf, subleaf, register, bit, and the state that the system must keep."""


def cpu_check(features: Iterable[str], linkage: str) -> str:
    """C of `inarch_check_cpu`, which fails with code 5 and names what the CPU lacks.

    Empty where no CPUID bit tells of `features`: for `generic`, and for other architectures.
    """
    rows = [
        f"    {{{string(name)}, {leaf}u, {subleaf}, {word}, {bit}, {state}}},\n"
        for name in sorted(features)
        if name in CPUID
        for leaf, subleaf, word, bit, state in (CPUID[name],)
    ]
    return abi_text("cpu.c", "CHECK", rows="".join(rows), linkage=linkage) if rows else ""
