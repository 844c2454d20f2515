r"""Untrusted text for terminals: control and bidirectional characters are quoted, and long names shortened.

Names in a model or an artifact may be any text: ESC begins commands of the terminal (the title, the
clipboard), CR and BS write over a line, bidirectional characters show it in another order. A name of
thousands of characters hides what a message says of it.
"""

from __future__ import annotations

import re
from typing import TextIO, cast

_ACTS = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""C0 but tab and newline, DEL, C1; marks, embeddings, overrides and isolates of the bidirectional algorithm
(UAX #9), Unicode's line and paragraph separators; what no encoding can write."""
_BREAKS = re.compile(r"[\t\n]")
LONGEST_NAME = 300
"""Characters of a name that are shown; a path is seldom as long."""
_LONG = re.compile(rf"(?<!\w)'[^']{{{LONGEST_NAME + 1},}}'(?!\w)|[^\s']{{{LONGEST_NAME + 1},}}")
"""What must be a name: between quotes, or without a space."""


def printable(text: str) -> str:
    r"""`text` with what acts on a terminal as Python would write it; lines stay.

    >>> printable("a\x1b[2J\u202e b\n")
    'a\\x1b[2J\\u202e b\n'
    """
    return _ACTS.sub(_quoted, text) if not text.isprintable() else text


def printable_name(name: str) -> str:
    r"""A name on one line of a listing, which nothing in it ends.

    >>> printable_name("input:0"), printable_name("x\nchecked    yes")
    ('input:0', 'x\\nchecked    yes')
    """
    name = _BREAKS.sub(_quoted, printable(name)) if not name.isprintable() else name
    return with_short_names(name)


def shortened(text: str, most: int = LONGEST_NAME) -> str:
    """`text`; if it is longer than `most`, its beginning, its end, and the number of characters between them.

    >>> shortened("x" * 100 + "y" * 900, 80)
    'xxxxxxxxxxxxxxxxxxxx ... (960 characters) ... yyyyyyyyyyyyyyyyyyyy'
    """
    if len(text) <= most:
        return text
    part = (most - 40) // 2
    return f"{text[:part]} ... ({len(text) - 2 * part} characters) ... {text[-part:]}"


def with_short_names(text: str) -> str:
    """A message or a line in which no name is longer than `LONGEST_NAME`."""
    if len(text) <= LONGEST_NAME:
        return text
    return _LONG.sub(_without_middle, text)


def _without_middle(found: re.Match[str]) -> str:
    name = found[0]
    return f"'{shortened(name[1:-1])}'" if name[0] == "'" else shortened(name)


def _quoted(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


class _Printable:
    """A stream that quotes what is written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(printable(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def printing(stream: TextIO) -> TextIO:
    """A stream that quotes what acts on a terminal before it goes to `stream`."""
    return cast("TextIO", _Printable(stream))


def printable_stream(stream: TextIO) -> TextIO:
    """The stream itself, for who draws on a terminal; as it is where it is none of `printing`."""
    return stream.stream if isinstance(stream, _Printable) else stream
