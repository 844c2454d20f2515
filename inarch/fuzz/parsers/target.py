"""Names of targets."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.machine.target import parse

_SEEDS = [
    b"native",
    b"generic",
    b"x86-64-v3",
    b"x86-64-v4+avx512vnni+avx512bf16",
    b"aarch64+sve",
    b"x86-64-v2+fma+avx2",
]


def check(data: bytes) -> None:
    """Reads `data`; the name of what is read names it again, and it gives flags."""
    target = parse(data.decode("utf-8", "replace"))
    assert parse(str(target)) == target, "its name means something else"
    target.cflags()
    target.missing_here()


PARSER = Parser(lambda: _SEEDS, check, located=False)
