"""What a model asks for that Inarch does not do, collected over the whole model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError, UnsupportedError

AT_RUN_TIME = "is computed at run time"
"""How a reason says that a constant was expected."""
NAMES_SHOWN = 5
"""Nodes of one kind that the message names."""


class UndefinedError(InarchError):
    """A name that nothing defines, or that a cycle does: wrong whatever the sizes are."""


class NotSupportedError(Exception):
    """Raised by a converter: this node asks for something unsupported. `reason` may be empty.

    With `value` known when the model is compiled it may be possible. `flows`: it says which way computations
    go, and may so be computed from what else is data.
    """

    def __init__(
        self, reason: str = "", value: SSAValue | None = None, *, flows: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.value = value
        self.flows = flows


@dataclass
class Unsupported:
    """Unsupported things, by what they are, each with the names of the nodes or tensors."""

    items: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    advice: dict[str, str] = field(default_factory=dict[str, str])
    """What to do instead, of some of them."""
    deciding: dict[str, None] = field(default_factory=dict[str, None])
    """Inputs whose values, where they are known, may make some of them possible."""

    def add(self, what: str, name: str, *, advice: str = "", deciding: Sequence[str] = ()) -> None:
        """`name` needs `what`."""
        self.items.setdefault(what, []).append(name)
        if advice:
            self.advice[what] = advice
        self.deciding.update(dict.fromkeys(deciding))

    def raise_if_any(self, where: str, hint: str = "") -> None:
        """One UnsupportedError with everything: `unsupported: Resize ('r1', 'r2'), dtype float16 ('h')`.

        `hint` is what to do about all of it.
        """
        if not self.items:
            return
        parts = [f"{what} ({self._said(what, names)})" for what, names in self.items.items()]
        if self.deciding:
            first = next(iter(self.deciding))
            hint = (
                f"; where it is always the same, give it to the compiler: --value {first}=...{hint}"
            )
        error = UnsupportedError(f"unsupported: {', '.join(parts)}{hint}", where=where)
        error.deciding = tuple(self.deciding)
        raise error

    def _said(self, what: str, names: list[str]) -> str:
        shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        advice = f"; {self.advice[what]}" if what in self.advice else ""
        return f"{shown}{more}{advice}"
