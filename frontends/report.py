"""What a model asks for that Inarch does not do, collected over the whole model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inarch.core.errors import UnsupportedError

AT_RUN_TIME = "is computed at run time"
"""How a reason says that a constant was expected."""
NAMES_SHOWN = 5
"""Nodes of one kind that the message names."""


class NotSupportedError(Exception):
    """Raised by a converter: this node asks for something unsupported. `reason` may be empty."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Unsupported:
    """Unsupported things, by what they are, each with the names of the nodes or tensors."""

    items: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, what: str, name: str) -> None:
        """`name` needs `what`."""
        self.items.setdefault(what, []).append(name)

    def raise_if_any(self, where: str, fixable: Sequence[str] = ()) -> None:
        """One UnsupportedError with everything, `2 unsupported: Resize (2: 'r1', 'r2')`.

        `fixable` are inputs whose values, given at compile time, might make what needs constants possible.
        """
        if not self.items:
            return
        count = sum(len(names) for names in self.items.values())
        parts = [f"{what} ({_names(names)})" for what, names in self.items.items()]
        hint = ""
        if fixable and any(AT_RUN_TIME in what for what in self.items):
            hint = (
                f"; where it is always the same, give it to the compiler: --value {fixable[0]}=..."
            )
        raise UnsupportedError(f"{count} unsupported: {', '.join(parts)}{hint}", where=where)


def _names(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
    return f"{len(names)}: {shown}{', ...' if len(names) > NAMES_SHOWN else ''}"
