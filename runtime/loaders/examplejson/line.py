"""One line of an ExampleJSON file as words with columns, and errors at them."""

from __future__ import annotations

import re
from typing import NamedTuple

from inarch.core.errors import InarchError

_WORD = re.compile(r"[^ \t]+")
_STRANGE = re.compile(r"[^\t -~]")
_NUMBER = re.compile(r"-?[0-9]+")
_SHOWN = 40
_DIGITS = 19
"""2**62 has 19 digits. What has more is not read at all: that would be quadratic in its length."""

LIMIT = 1 << 62
"""Numbers and sizes in bytes are below this, as in a manifest."""


class Word(NamedTuple):
    """Text without blanks, and the column (from 1) of its first character."""

    text: str
    column: int

    def __str__(self) -> str:
        return shown(self.text)


class Line:
    """The words of a line, taken from left to right."""

    def __init__(self, text: str, number: int, file: str) -> None:
        """`text` is without its newline. Raises InarchError for a character that no word has."""
        self._file = file
        self.number = number
        strange = _STRANGE.search(text)
        if strange is not None:
            raise self.error(
                f"expected printable ASCII, found the character U+{ord(strange[0]):04X}",
                strange.start() + 1,
            )
        self._words = [Word(match[0], match.start() + 1) for match in _WORD.finditer(text)]
        self._at = 0
        self._end = len(text.rstrip()) + 1

    def __bool__(self) -> bool:
        """Whether there are words left."""
        return self._at < len(self._words)

    def error(self, message: str, at: int | Word) -> InarchError:
        """An error located at a word or a column of this line."""
        column = at.column if isinstance(at, Word) else at
        return InarchError(message, where=f"{self._file}:{self.number}:{column}")

    def take(self, expected: str) -> Word:
        """The next word. Raises where the line ends."""
        if not self:
            raise self.error(f"expected {expected}, found the end of the line", self._end)
        self._at += 1
        return self._words[self._at - 1]

    def accept(self, keyword: str) -> bool:
        """Takes the next word if it is `keyword`."""
        found = bool(self) and self._words[self._at].text == keyword
        self._at += found
        return found

    def expect(self, keyword: str) -> None:
        """Takes the next word, which has to be `keyword`."""
        word = self.take(f"'{keyword}'")
        if word.text != keyword:
            raise self.error(f"expected '{keyword}', found {word}", word)

    def finish(self, expected: str) -> None:
        """Raises when there are words left, where the end or `expected` could be."""
        if self:
            word = self._words[self._at]
            raise self.error(f"expected {expected}, found {word}", word)

    def until(self, *keywords: str) -> list[Word]:
        """The words before the next of `keywords`, or all that are left."""
        start = self._at
        while self and self._words[self._at].text not in keywords:
            self._at += 1
        return self._words[start : self._at]

    def number_of(self, word: Word, what: str) -> int:
        """The number >= 0 that `word` is; `what` names it: `a dimension`."""
        text = word.text
        if not _NUMBER.fullmatch(text):
            raise self.error(f"expected {what}, found {word}", word)
        if text.startswith("-"):
            raise self.error(f"expected {what} >= 0, found {word}", word)
        if len(text) > _DIGITS or int(text) >= LIMIT:
            raise self.error(f"expected {what} below 2**62, found {word}", word)
        return int(text)


def shown(text: str) -> str:
    """A word in a message: quoted, and cut where it is long."""
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[: _SHOWN - 3]}...'"
