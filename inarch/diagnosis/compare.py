"""Two sets of values by name, and the first element that differs by more than is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inarch.core.lazy import Array, np
from inarch.core.rounding import distance


@dataclass(frozen=True)
class Difference:
    """An element of a value; `allowed` is what rounding can explain, in the value's own unit."""

    value: str
    index: tuple[int, ...]
    expected: float
    found: float
    allowed: float
    count: int
    size: int

    @property
    def text(self) -> str:
        """One line."""
        place = list(self.index)
        return (
            f"value '{self.value}', element {place}: expected {self.expected:.9g}, found "
            f"{self.found:.9g}, allowed {self.allowed:.2g} ({self.count} of {self.size} differ)"
        )

    def as_json(self) -> dict[str, Any]:
        """For `--json`; NaN and infinities are text, which JSON has no numbers for."""
        numbers = {"expected": self.expected, "found": self.found, "allowed": self.allowed}
        return {
            "value": self.value,
            "index": list(self.index),
            "count": self.count,
            "size": self.size,
            **{k: v if np.isfinite(v) else str(v) for k, v in numbers.items()},
        }


@dataclass(frozen=True)
class Crash:
    """The compiled code gave no value; `how` it ended: `was ended by SIGSEGV`."""

    how: str

    @property
    def text(self) -> str:
        """One line."""
        return f"the compiled code {self.how}"

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"crash": self.how}


def difference(name: str, expected: Array, found: Array, allowed: Array) -> Difference | None:
    """The first element that is farther away than allowed. NaN is NaN, an infinity that infinity."""
    wrong = distance(expected, found) > allowed
    if not wrong.any():
        return None
    places = np.argwhere(wrong)
    index = tuple(int(i) for i in places[0])
    bound = np.broadcast_to(allowed, expected.shape)[index]
    return Difference(
        name,
        index,
        float(expected[index]),
        float(found[index]),
        float(bound),
        len(places),
        expected.size,
    )
