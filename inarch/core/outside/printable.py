r"""Text of strangers for terminals: characters that act on one, or turn what follows, are quoted.

Names in a model or an artifact may be any text: ESC begins commands of the terminal (the title, the
clipboard), CR and BS write over a line, bidirectional characters show it in another order.
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
    return _BREAKS.sub(_quoted, printable(name)) if not name.isprintable() else name


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
