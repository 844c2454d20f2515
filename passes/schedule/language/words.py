"""The words of a schedule: names, numbers, texts in quotes and signs, each with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inarch.core.errors import UsageError
from inarch.core.outside.printable import shortened

MOST_BYTES = 1 << 20
"""Of a schedule: more is no text of a person."""
MOST_NUMBER = (1 << 31) - 1

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|#[^\n]*)"
    r"|(?P<end>\n|;)"
    r'|(?P<text>"(?:[^"\\\n]|\\["\\])*")'
    r"|(?P<number>-?[0-9]+)"
    r"|(?P<name>[A-Za-z_%@][A-Za-z0-9_.$-]*(?<!-))"
    r"|(?P<sign>->|[:,\[\]])"
)


@dataclass(frozen=True)
class Word:
    """One word: `kind` is `name`, `number`, `text`, `sign` or `end`."""

    kind: str
    text: str
    where: str
    """`FILE:LINE:COLUMN`."""


def words_of(text: str, file: str) -> Iterator[Word]:
    """The words of a schedule, with its ends of lines and steps. Raises UsageError for any other sign."""
    line, begin, position = 1, 0, 0
    while position < len(text):
        where = f"{file}:{line}:{position - begin + 1}"
        found = _TOKEN.match(text, position)
        if found is None:
            sign = text[position : position + 1]
            message = (
                "expected '\"' at the end of a name, found the end of the line"
                if sign == '"'
                else f"expected a step of a schedule, found {sign!r}"
            )
            raise UsageError(message, where=where)
        position = found.end()
        kind = found.lastgroup or ""
        if kind != "space":
            yield Word(kind, found.group(), where)
        if found.group() == "\n":
            line, begin = line + 1, position


class Words:
    """The words of one step, read from the first to the last."""

    def __init__(self, words: list[Word], where: str) -> None:
        self._words = words
        self._next = 0
        self._where = where
        """Of what is behind the last one."""

    @property
    def is_done(self) -> bool:
        """Whether none is left."""
        return self._next == len(self._words)

    @property
    def where(self) -> str:
        """Of the next word."""
        return self._where if self.is_done else self._words[self._next].where

    @property
    def next(self) -> str:
        """The text of the next word; empty where there is none."""
        return "" if self.is_done else self._words[self._next].text

    def error(self, message: str) -> UsageError:
        """The error at the next word."""
        return UsageError(message, where=self.where)

    def _take(self, kind: str, what: str) -> Word:
        if self.is_done or self._words[self._next].kind != kind:
            raise self.error(f"expected {what}, found {self._found()}")
        self._next += 1
        return self._words[self._next - 1]

    def name(self, what: str) -> str:
        """A name, such as that of an iterator."""
        return self._take("name", what).text

    def text(self, what: str) -> str:
        """What stands in quotes."""
        return re.sub(r"\\(.)", r"\1", self._take("text", what).text[1:-1])

    def number(self, what: str) -> int:
        """A whole number of 31 bits."""
        word = self._take("number", what)
        if len(word.text) > 11 or abs(int(word.text)) > MOST_NUMBER:
            self._next -= 1
            raise self.error(f"expected {what} of at most {MOST_NUMBER}, found '{word.text[:20]}'")
        return int(word.text)

    def sign(self, text: str) -> None:
        """The sign `text`."""
        if not self.has(text):
            raise self.error(f"expected '{text}', found {self._found()}")

    def _found(self) -> str:
        return "the end of the step" if self.is_done else f"'{shortened(self.next, _SHOWN)}'"

    def has(self, text: str) -> bool:
        """Whether the next word is `text`, which is taken then."""
        is_next = not self.is_done and self._words[self._next].text == text
        self._next += is_next
        return is_next

    def is_text(self) -> bool:
        """Whether something in quotes is next."""
        return not self.is_done and self._words[self._next].kind == "text"

    def names(self, what: str) -> tuple[str, ...]:
        """One name or more, up to a sign or the end."""
        found = [self.name(what)]
        while not self.is_done and self._words[self._next].kind == "name":
            found.append(self.name(what))
        return tuple(found)

    def sizes(self, what: str) -> dict[str, int]:
        """`m 4 n 16`: names with a number each."""
        found: dict[str, int] = {}
        while not found or (not self.is_done and self._words[self._next].kind == "name"):
            name = self.name(what)
            if name in found:
                self._next -= 1
                raise self.error(f"expected {what} once, found '{name}' again")
            found[name] = self.number(f"a number for '{name}'")
        return found


_SHOWN = 100
"""Characters of a word that is not the expected one."""
