"""Machines that code is compiled for: a level of an architecture, and extra features.

A target is written `x86-64-v4+avx512vnni`: the level's name, then features as GCC names them
(without `-m`). The levels of x86-64 are those of the psABI ("Micro-Architecture Levels"). Every
decision that depends on the machine reads a `Target`; nothing below the driver asks the CPU.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from inarch.core.errors import unknown

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

LEVELS: dict[str, frozenset[str]] = {
    "x86-64": frozenset(),
    "x86-64-v2": frozenset(_V2),
    "x86-64-v3": frozenset(_V3),
    "x86-64-v4": frozenset(_V4),
    "aarch64": frozenset({"neon"}),
    "generic": frozenset(),
}
"""The features of each level. `generic` is whatever the C compiler assumes by itself."""

_IMPLIED: dict[str, tuple[str, ...]] = {
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
}
"""What a compiler switches on together with a feature."""

_X86_FEATURES = frozenset(_V4) | frozenset(_IMPLIED) | {"amx-tile"}
_ARM_FEATURES = frozenset({"neon", "dotprod", "fp16", "bf16", "i8mm", "sve", "sve2"})

FEATURES = _X86_FEATURES | _ARM_FEATURES
"""Every feature that a target, or the `needs` of a microkernel, may name."""

_EXTRAS = (
    "avx512bf16",
    "avx512fp16",
    "avx512vbmi",
    "avx512vnni",
    "avxvnni",
    "amx-bf16",
    "amx-int8",
    "dotprod",
    "fp16",
    "bf16",
    "i8mm",
    "sve",
    "sve2",
)
"""Features above a level that kernels are written for; `native` reports them."""

_LINUX_NAMES = {
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
    "asimd": "neon",
    "asimddp": "dotprod",
    "asimdhp": "fp16",
}
"""Where Linux calls a feature otherwise than GCC does (arch/x86/include/asm/cpufeatures.h)."""


@dataclass(frozen=True)
class Target:
    """A machine. Made by `parse`; equal targets have equal names.

    `str(target)` is its name, and `parse(str(target)) == target`.
    """

    name: str
    """Canonical: the level, then what it lacks of `features`, sorted and without implied ones."""
    features: frozenset[str]
    """All features, those of the level included."""

    def __str__(self) -> str:
        return self.name

    @property
    def level(self) -> str:
        """The part of the name before the first `+`."""
        return self.name.partition("+")[0]

    @property
    def extras(self) -> tuple[str, ...]:
        """The features that the name adds to the level."""
        return tuple(self.name.split("+")[1:])

    @property
    def architecture(self) -> str:
        """`x86-64`, `aarch64` or `generic`."""
        return "x86-64" if self.level.startswith("x86-64") else self.level

    @property
    def vector_bytes(self) -> int:
        """Bytes of the widest vector that is worth using."""
        if "avx512f" in self.features:
            return 64
        return 32 if {"avx2", "fma"} <= self.features else 16

    @property
    def vector_registers(self) -> int:
        """How many vector registers the architecture has."""
        return 32 if "avx512f" in self.features or self.architecture == "aarch64" else 16

    def cflags(self) -> list[str]:
        """The flags that make GCC and Clang compile for this target.

        >>> parse("x86-64-v4+avx512vnni").cflags()
        ['-march=x86-64-v4', '-mavx512vnni', '-mprefer-vector-width=512']
        """
        if self.architecture == "generic":
            return []
        if self.architecture == "aarch64":
            return ["-march=" + "+".join(("armv8-a", *self.extras))]
        width = ["-mprefer-vector-width=512"] if self.vector_bytes == 64 else []
        return [f"-march={self.level}", *(f"-m{name}" for name in self.extras), *width]

    def missing_on_host(self) -> list[str]:
        """What this machine lacks to run code for the target, sorted; empty when it can."""
        machine = host()
        if self.architecture not in ("generic", machine.architecture):
            return [self.architecture]
        return sorted(self.features - machine.features)


def parse(text: str) -> Target:
    """The target that `text` names: `x86-64-v3`, `x86-64-v4+avx512vnni`, `generic`, `native`, ...

    Raises UsageError for an unknown level or feature, naming the known ones.
    """
    level, *extras = text.strip().split("+")
    if level == "native":
        level, *host_extras = str(native()).split("+")
        extras = [*host_extras, *extras]
    if level not in LEVELS:
        raise unknown("target", level, [*LEVELS, "native"])
    known = _known_features(level)
    for name in extras:
        if name not in known:
            raise unknown("feature", name, known, within=f"target '{level}'")
    own = _closure(LEVELS[level])
    added = {name for name in extras if name not in own}
    implied = _closure({other for name in added for other in _IMPLIED.get(name, ())})
    return Target("+".join((level, *sorted(added - implied))), own | _closure(added))


def native() -> Target:
    """This machine: the highest level that its CPU has, and the extra features known here."""
    machine = host()
    if machine.architecture == "generic":
        return parse("generic")
    levels = [
        name
        for name, features in LEVELS.items()
        if parse(name).architecture == machine.architecture and features <= machine.features
    ]
    # The levels of LEVELS grow, so the last that fits is the highest.
    known = _known_features(levels[-1])
    return parse("+".join((levels[-1], *(x for x in _EXTRAS if x in machine.features & known))))


def check_features(names: Iterable[str]) -> list[str]:
    """Those of `names` that this machine's CPU lacks, sorted."""
    return sorted(set(names) - host().features)


@dataclass(frozen=True)
class Host:
    """What this machine is: architecture, and features of its CPU by GCC's names."""

    architecture: str
    features: frozenset[str]


@cache
def host() -> Host:
    """This machine, read once: a CPU does not change under a process."""
    name = platform.machine().lower()
    if name in ("x86_64", "amd64"):
        return Host("x86-64", frozenset(_cpuinfo("flags")))
    if name in ("aarch64", "arm64"):
        return Host("aarch64", LEVELS["aarch64"] | _cpuinfo("Features"))
    return Host("generic", frozenset())


def _cpuinfo(key: str) -> set[str]:
    """What the first line `key : ...` of /proc/cpuinfo lists; nothing without such a file."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return set()
    for line in text.splitlines():
        name, _, values = line.partition(":")
        if name.strip() == key:
            return {_LINUX_NAMES.get(value, value) for value in values.split()}
    return set()


def _known_features(level: str) -> frozenset[str]:
    if level == "generic":
        return frozenset()
    return _ARM_FEATURES if level == "aarch64" else _X86_FEATURES


def _closure(features: set[str] | frozenset[str]) -> frozenset[str]:
    """`features` and everything they imply."""
    found: set[str] = set()
    pending = list(features)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(_IMPLIED.get(name, ()))
    return frozenset(found)
