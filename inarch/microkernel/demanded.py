"""A kernel that somebody asks for: by name, or only those of its members that have some parameters.

my-gemm         my-gemm{MR=6}         my-gemm{MR=6, NR=16}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inarch.core.errors import UsageError

_PARAMETER = re.compile(r"\s*(\w+)\s*=\s*(\d+)\s*")


@dataclass(frozen=True)
class Demanded:
    """What is asked for."""

    name: str
    params: Mapping[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.name}{{{said}}}" if said else self.name

    def has(self, member: Mapping[str, int]) -> bool:
        """Whether a member is one of those."""
        return all(member.get(name) == value for name, value in self.params.items())


def demanded_of(text: str) -> Demanded:
    """Reads `name` or `name{MR=6}`. Raises UsageError."""
    name, brace, rest = text.partition("{")
    if not brace:
        return Demanded(text)
    parts = [_PARAMETER.fullmatch(part) for part in rest.removesuffix("}").split(",")]
    found = {part[1]: int(part[2]) for part in parts if part is not None}
    if not rest.endswith("}") or None in parts or len(found) < len(parts):
        raise UsageError(f"expected NAME or NAME{{PARAMETER=NUMBER, ...}}, found '{text}'")
    return Demanded(name, found)
