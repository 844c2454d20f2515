"""`--verify-diagnostics`: the errors of a program against the ones that its comments expect.

    // expected-error @below {{a part of the message}}
    // expected-error-re @+2 {{size of {{[0-9]+}} elements}}

The place is `@below`, `@above` (the next or last line without such a comment), `@+N`, `@-N`,
`@this-line` or nothing (the comment's own line), or `@unknown` (an error without a line). In the
`-re` form the parts in inner braces are regular expressions. One error fulfils one expectation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from inarch.core.errors import InarchError, UsageError

_COMMENT = re.compile(r"//\s*expected-(?P<kind>[\w-]+)(?P<rest>.*)$")
_REST = re.compile(
    r"\s*(?:@(?P<place>below|above|this-line|unknown|[+-]\d+)\s*)?\{\{(?P<text>.*)\}\}\s*$"
)
_LINE = re.compile(r"^(?P<file>.+):(?P<line>\d+):\d+$")


@dataclass(frozen=True)
class Expectation:
    """An error that must occur on `line` (None: without a line), written on the line `written`."""

    line: int | None
    pattern: str
    text: str
    written: int


def expectations(text: str, name: str, line_offset: int = 0) -> list[Expectation]:
    """The expectations in `text`, whose first line is number `line_offset + 1` of file `name`.

    Raises UsageError for a malformed one.
    """
    lines = text.split("\n")
    is_comment = [_COMMENT.search(line) is not None for line in lines]
    found: list[Expectation] = []
    for index, line in enumerate(lines):
        match = _COMMENT.search(line)
        if match is None:
            continue
        here = index + 1 + line_offset
        rest = _REST.fullmatch(match["rest"])
        if match["kind"] not in ("error", "error-re") or rest is None:
            raise UsageError(
                "expected `expected-error[-re] [@below|@above|@+N|@-N|@this-line|@unknown] "
                f"{{{{text}}}}`, found `{match[0].strip()}`",
                where=f"{name}:{here}",
            )
        wanted = _wanted_line(rest["place"], index, is_comment)
        number = None if wanted is None else wanted + 1 + line_offset
        regex = match["kind"] == "error-re"
        pattern = _pattern(rest["text"], f"{name}:{here}") if regex else re.escape(rest["text"])
        found.append(Expectation(number, pattern, rest["text"], here))
    return found


def _wanted_line(place: str | None, index: int, is_comment: Sequence[bool]) -> int | None:
    match place:
        case None | "this-line":
            return index
        case "unknown":
            return None
        case "below" | "above":
            step = 1 if place == "below" else -1
            line = index + step
            while 0 <= line < len(is_comment) and is_comment[line]:
                line += step
            return line
        case _:
            return index + int(place)


def _pattern(text: str, where: str) -> str:
    """A regular expression of literal text with `{{regex}}` parts."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    pattern = "".join(p if i % 2 else re.escape(p) for i, p in enumerate(parts))
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"expected a regular expression: {error}", where=where) from error
    return pattern


def mismatches(
    name: str, expected: Sequence[Expectation], errors: Sequence[InarchError]
) -> list[str]:
    """A message for every error not expected, and for every expectation without an error."""
    open_ones = list(expected)
    messages: list[str] = []
    for error in errors:
        line = _line_of(error, name)
        text = " ".join(error.message.split())
        fulfilled = next(
            (e for e in open_ones if e.line == line and re.search(e.pattern, text)), None
        )
        if fulfilled is not None:
            open_ones.remove(fulfilled)
            continue
        place = error.where if line is not None else f"{error.where or name} (no line: @unknown)"
        messages.append(f"{place}: error: unexpected error: {text}")
    for one in open_ones:
        place = "without a line" if one.line is None else f"on line {one.line}"
        messages.append(
            f"{name}:{one.written}: error: expected an error {place}, found none: {one.text}"
        )
    return messages


def _line_of(error: InarchError, name: str) -> int | None:
    match = _LINE.match(error.where or "")
    return int(match["line"]) if match is not None and match["file"] == name else None
