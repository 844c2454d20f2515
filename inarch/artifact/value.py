"""A value of a manifest's JSON and where it stands; each method checks what it gives.

What has not its type or its range is refused with the field's path: `manifest.json: functions.main: ...`.
"""

from __future__ import annotations

import os
import reprlib
from dataclasses import dataclass
from typing import Any, cast

from inarch.core.errors import InarchError

_MAX_BYTES = 1 << 62
_MAX_PATH = 4095
"""Linux's bound, in bytes."""

_REPR = reprlib.Repr()  # which does not follow values into any depth
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 1000
_REPR.maxlist = _REPR.maxdict = 60


@dataclass(frozen=True)
class Value:
    """A JSON value and its path; each method checks what it gives."""

    value: object
    path: str
    where: str
    name: str = "manifest.json"
    """What it is part of, in messages."""

    def __getitem__(self, key: str) -> Value:
        """A field of an object; one that is missing is found to be None when it is checked."""
        return self._at(self.fields().get(key), f".{key}")

    def error(self, expected: str) -> InarchError:
        path = f"{self.name}: {self.path}" if self.path else self.name
        found = shown(self.value)
        return InarchError(f"{path}: expected {expected}, found {found}", where=self.where)

    def fields(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return cast("dict[str, Any]", self.value)

    def entries(self) -> dict[str, Value]:
        return {self._at(name, "").text(): self[name] for name in self.fields()}

    def items(self) -> list[Value]:
        if not isinstance(self.value, list):
            raise self.error("a list")
        values = cast("list[object]", self.value)
        return [self._at(value, f"[{number}]") for number, value in enumerate(values)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.error("a string")
        try:
            self.value.encode()
        except UnicodeEncodeError:  # JSON can spell halves of characters, which nothing can print
            raise self.error("a string of whole characters") from None
        return self.value

    def file(self) -> str:
        """A path that the system can look up."""
        text = self.text()
        if len(os.fsencode(text)) > _MAX_PATH or "\0" in text:
            raise self.error(f"a path of at most {_MAX_PATH} bytes")
        return text

    def identifier(self) -> str:
        """A C identifier: it becomes part of symbols that are looked up."""
        text = self.text()
        if not (text.isidentifier() and text.isascii()):
            raise self.error("a C identifier")
        return text

    def size(self) -> int:
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_BYTES:
            raise self.error("a size")
        return value

    def _at(self, value: object, step: str) -> Value:
        return Value(value, (self.path + step).lstrip("."), self.where, self.name)


def shown(value: object) -> str:
    """A JSON value in a message: short, and None as what it means."""
    text = "nothing" if value is None else _REPR.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
