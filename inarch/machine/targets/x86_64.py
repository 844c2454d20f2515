"""x86-64: the levels of the psABI ("Micro-Architecture Levels"), and features above them.

Where a feature is reported: Intel's Software Developer's Manual, volume 2, CPUID; which registers the
system must keep for it (XCR0): volume 1, 13.3. Both hold for AMD as well.
"""

from dataclasses import dataclass

from inarch.machine.architecture import Architecture, Features

_AVX, _AVX512, _AMX = 0x6, 0xE6, 0x60000
_B, _C, _D = 1, 2, 3
"""EBX, ECX, EDX; EAX is 0."""


@dataclass(frozen=True)
class Feature:
    """A feature of these CPUs."""

    cpuid: tuple[int, int, int, int, int]
    """Leaf, subleaf, register, bit, and the state that the system must keep."""
    implies: tuple[str, ...] = ()
    """What a compiler switches on with it."""
    linux: str = ""
    """Linux's name, where that is another one (arch/x86/include/asm/cpufeatures.h)."""


FEATURES = {
    "sse3": Feature((1, 0, _C, 0, 0), linux="pni"),
    "ssse3": Feature((1, 0, _C, 9, 0), ("sse3",)),
    "fma": Feature((1, 0, _C, 12, _AVX), ("avx",)),
    "cx16": Feature((1, 0, _C, 13, 0)),
    "sse4.1": Feature((1, 0, _C, 19, 0), ("ssse3",), linux="sse4_1"),
    "sse4.2": Feature((1, 0, _C, 20, 0), ("sse4.1", "popcnt"), linux="sse4_2"),
    "movbe": Feature((1, 0, _C, 22, 0)),
    "popcnt": Feature((1, 0, _C, 23, 0)),
    "avx": Feature((1, 0, _C, 28, _AVX), ("sse4.2",)),
    "f16c": Feature((1, 0, _C, 29, _AVX), ("avx",)),
    "sahf": Feature((0x80000001, 0, _C, 0, 0), linux="lahf_lm"),
    "lzcnt": Feature((0x80000001, 0, _C, 5, 0), linux="abm"),
    "bmi": Feature((7, 0, _B, 3, 0), linux="bmi1"),
    "avx2": Feature((7, 0, _B, 5, _AVX), ("avx",)),
    "bmi2": Feature((7, 0, _B, 8, 0)),
    "avx512f": Feature((7, 0, _B, 16, _AVX512), ("avx2", "f16c", "fma")),
    "avx512dq": Feature((7, 0, _B, 17, _AVX512), ("avx512f",)),
    "avx512ifma": Feature((7, 0, _B, 21, _AVX512), ("avx512f",)),
    "avx512cd": Feature((7, 0, _B, 28, _AVX512), ("avx512f",)),
    "avx512bw": Feature((7, 0, _B, 30, _AVX512), ("avx512f",)),
    "avx512vl": Feature((7, 0, _B, 31, _AVX512), ("avx512f",)),
    "avx512vbmi": Feature((7, 0, _C, 1, _AVX512), ("avx512bw",)),
    "avx512vnni": Feature((7, 0, _C, 11, _AVX512), ("avx512f",), linux="avx512_vnni"),
    "amx-bf16": Feature((7, 0, _D, 22, _AMX), ("amx-tile",), linux="amx_bf16"),
    "avx512fp16": Feature(
        (7, 0, _D, 23, _AVX512), ("avx512bw", "avx512dq", "avx512vl"), linux="avx512_fp16"
    ),
    "amx-tile": Feature((7, 0, _D, 24, _AMX), linux="amx_tile"),
    "amx-int8": Feature((7, 0, _D, 25, _AMX), ("amx-tile",), linux="amx_int8"),
    "avxvnni": Feature((7, 1, 0, 4, _AVX), ("avx2",), linux="avx_vnni"),
    "avx512bf16": Feature((7, 1, 0, 5, _AVX512), ("avx512bw",), linux="avx512_bf16"),
}

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")


def _vector_bytes(features: Features) -> int:
    if "avx512f" in features:
        return 64
    return 32 if {"avx2", "fma"} <= features else 16


def _flags(march: str, extras: tuple[str, ...], features: Features) -> list[str]:
    width = ["-mprefer-vector-width=512"] if _vector_bytes(features) == 64 else []
    return [f"-march={march}", *(f"-m{name}" for name in extras), *width]


TARGET = Architecture(
    family="x86-64",
    levels={
        "x86-64": frozenset(),
        "x86-64-v2": frozenset(_V2),
        "x86-64-v3": frozenset(_V3),
        "x86-64-v4": frozenset(_V4),
    },
    vector_bytes=_vector_bytes,
    vector_registers=lambda features: 32 if "avx512f" in features else 16,
    flags=_flags,
    machines=("x86_64", "amd64"),
    machine="zen4",
    implied={name: row.implies for name, row in FEATURES.items() if row.implies},
    # Also of a family in which no level has them (a `replace` with levels of its own).
    features=frozenset({*_V4, "amx-tile"}),
    extras=(
        "avx512bf16",
        "avx512fp16",
        "avx512vbmi",
        "avx512vnni",
        "avxvnni",
        "amx-bf16",
        "amx-int8",
    ),
    cpuinfo="flags",
    cross=("x86_64-linux-gnu-gcc",),
    linux_names={row.linux: name for name, row in FEATURES.items() if row.linux},
)
