"""C that asks an x86-64 CPU for features: `bind` refuses before the first instruction that it lacks."""

from __future__ import annotations

from collections.abc import Iterable

from inarch.backends.c.text import string
from inarch.backends.c.write.abi.library_text import abi_text
from inarch.machine.targets.x86_64 import FEATURES


def cpu_check(features: Iterable[str], linkage: str) -> str:
    """C of `inarch_check_cpu`, which fails with code 5 and names what the CPU lacks.

    Empty where no CPUID bit tells of `features`: for `generic`, and for other architectures.
    """
    rows = [
        f"    {{{string(name)}, {leaf}u, {subleaf}, {word}, {bit}, {state}}},\n"
        for name in sorted(features)
        if name in FEATURES
        for leaf, subleaf, word, bit, state in (FEATURES[name].cpuid,)
    ]
    return abi_text("cpu.c", "CHECK", rows="".join(rows), linkage=linkage) if rows else ""
