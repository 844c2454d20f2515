"""What an option of a backend is: kind, default, range and help; and its values, as text and in Python.

    Option("int", 16, range="1..256", help="rows and columns of the multiplier")
    Option("bytes", "4MiB", range="64KiB..64MiB", help="of the scratchpad")
    Option("text", "exact", range=["exact", "fast"], help="how it rounds")
    Option("bool", False, help="whether it may sum in another order")

Values are given as text (`npu:memory=4MiB`) or in Python (`npu.configure(memory="4MiB")`); code gets them as
int, float, bool, str, and sizes as a number of bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from inarch.core.errors import InarchError, UsageError, unknown

Kind = Literal["int", "float", "bool", "text", "bytes"]
Value = int | float | bool | str

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_MOST_DIGITS = 18
"""Of a whole number: more than any size, and Python refuses thousands of them with an error of its own."""


@dataclass(frozen=True)
class Option:
    """An option of a backend, declared under its name in `Backend.options`."""

    kind: Kind
    """`int`, `float`, `bool`, `text`, or `bytes`: a size such as `4MiB`."""
    default: Value
    """What it is where nobody says; of a size also as text."""
    help: str = ""
    """One line, for `inarch list backends`."""
    range: str | Sequence[Value] = ""
    """`"1..256"`, both ends among the values and either left out; or all values that there are."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise unknown("kind", str(self.kind), get_args(Kind), within="an option of a backend")
        if isinstance(self.range, str):
            if self.range and (self.kind in ("text", "bool") or ".." not in self.range):
                raise InarchError(
                    "range of an option: expected '1..256' of numbers and sizes, else a list of values, "
                    f"found '{self.range}' of kind {self.kind}"
                )
            _ = self._bounds
        else:
            object.__setattr__(self, "range", tuple(map(self._read, self.range)))
        object.__setattr__(self, "default", self.value(self.default, "default of an option"))

    def value(self, given: object, what: str) -> Value:
        """The value that `given`, text or a value of Python, is; `what` begins the error.

        Raises UsageError for one of another kind, or out of range.
        """
        try:
            found = self._read(given)
        except ValueError:
            found = None
        if found is not None and self._is_in_range(found):
            return found
        shown = given if isinstance(given, str) else repr(given)
        choices = [] if isinstance(self.range, str) else list(map(self.text, self.range))
        if self.kind == "bool":
            choices = ["true", "false"]
        if choices and isinstance(given, str):
            raise unknown("value", shown, choices, within=what)
        raise UsageError(f"{what}: expected {self.expected}, found '{shown}'")

    def text(self, value: Value) -> str:
        """A value as `value` reads it again, and as it is shown."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if self.kind != "bytes":
            return str(value)
        size = int(value)
        unit = next(
            (unit for unit in ("GiB", "MiB", "KiB") if size and size % _UNITS[unit] == 0), ""
        )
        return f"{size // _UNITS[unit]}{unit}"

    @property
    def expected(self) -> str:
        """What its values are, for people: `a whole number from 1 to 256`."""
        kinds = {
            "int": "a whole number",
            "float": "a number",
            "bool": "true or false",
            "text": "text",
            "bytes": "a size such as 4MiB",
        }
        if not isinstance(self.range, str):
            return f"one of {', '.join(map(self.text, self.range))}"
        low, high = self._bounds
        ends = [f"from {self.text(low)}"] if low is not None else []
        ends += [f"to {self.text(high)}"] if high is not None else []
        beside = "," if self.kind == "bytes" and ends else ""
        return " ".join([kinds[self.kind] + beside, *ends])

    @property
    def _bounds(self) -> tuple[int | float | None, int | float | None]:
        if not isinstance(self.range, str) or not self.range:
            return None, None
        try:
            ends = [self._read(end) if end else None for end in self.range.split("..")]
        except ValueError:
            ends = []
        if len(ends) != 2:
            raise InarchError(
                f"range of an option: expected '1..256' or a list of values, found '{self.range}'"
            )
        low, high = (end if isinstance(end, int | float) else None for end in ends)
        return low, high

    def _is_in_range(self, value: Value) -> bool:
        if not isinstance(self.range, str):
            return value in self.range
        low, high = self._bounds
        if not isinstance(value, int | float):
            return True
        return (low is None or value >= low) and (high is None or value <= high)

    def _read(self, given: object) -> Value:
        """Raises ValueError for what is no value of the kind."""
        return _READERS[self.kind](given)


def _whole(given: object) -> int:
    if isinstance(given, str) and re.fullmatch(r"[+-]?[0-9]+", given) and len(given) < _MOST_DIGITS:
        return int(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise ValueError(given)


def _real(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError(given)
    found = float(given)
    if not math.isfinite(found):
        raise ValueError(given)
    return found


def _truth(given: object) -> bool:
    if isinstance(given, bool):
        return given
    if given in ("true", "false"):
        return given == "true"
    raise ValueError(given)


def _text(given: object) -> str:
    if isinstance(given, str) and given.isprintable():
        return given
    raise ValueError(given)


def _size(given: object) -> int:
    if isinstance(given, str):
        match = re.fullmatch(r"([0-9]+)([A-Za-z]*)", given)
        if match is None or match[2] not in _UNITS or len(match[1]) >= _MOST_DIGITS:
            raise ValueError(given)
        return int(match[1]) * _UNITS[match[2]]
    found = _whole(given)
    if found < 0:
        raise ValueError(given)
    return found


_READERS: dict[Kind, Callable[[object], Value]] = {
    "int": _whole,
    "float": _real,
    "bool": _truth,
    "text": _text,
    "bytes": _size,
}
