"""x86-64: the levels of the psABI ("Micro-Architecture Levels"), and features above them."""

from inarch.machine.architecture import Architecture, Features

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
    implied={
        "ssse3": ("sse3",),
        "sse4.1": ("ssse3",),
        "sse4.2": ("sse4.1", "popcnt"),
        "avx": ("sse4.2",),
        "f16c": ("avx",),
        "fma": ("avx",),
        "avx2": ("avx",),
        "avxvnni": ("avx2",),
        "avx512f": ("avx2", "f16c", "fma"),
        "avx512bw": ("avx512f",),
        "avx512cd": ("avx512f",),
        "avx512dq": ("avx512f",),
        "avx512vl": ("avx512f",),
        "avx512ifma": ("avx512f",),
        "avx512vbmi": ("avx512bw",),
        "avx512vnni": ("avx512f",),
        "avx512bf16": ("avx512bw",),
        "avx512fp16": ("avx512bw", "avx512dq", "avx512vl"),
        "amx-int8": ("amx-tile",),
        "amx-bf16": ("amx-tile",),
    },
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
    # arch/x86/include/asm/cpufeatures.h
    linux_names={
        "pni": "sse3",
        "sse4_1": "sse4.1",
        "sse4_2": "sse4.2",
        "lahf_lm": "sahf",
        "bmi1": "bmi",
        "abm": "lzcnt",
        "avx_vnni": "avxvnni",
        "avx512_vnni": "avx512vnni",
        "avx512_bf16": "avx512bf16",
        "avx512_fp16": "avx512fp16",
        "amx_tile": "amx-tile",
        "amx_int8": "amx-int8",
        "amx_bf16": "amx-bf16",
    },
)
