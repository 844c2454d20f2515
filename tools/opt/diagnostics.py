"""`--verify-diagnostics`: the errors, warnings and remarks of a program against those its comments expect.

    // expected-error @below {{a part of the message}}
    // expected-warning-re @+2 {{size of {{[0-9]+}} elements}}
    // expected-remark @unknown {{[partition]}}

The place is `@below`, `@above` (the next or last line without such a comment), `@+N`, `@-N`,
`@this-line` or nothing (the comment's own line), or `@unknown` (what has no line). In the
`-re` form the parts in inner braces are regular expressions. Each fulfils one expectation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inarch.core.errors import UsageError

_COMMENT = re.compile(r"//\s*expected-(?P<kind>[\w-]+)(?P<rest>.*)$")
_REST = re.compile(
    r"\s*(?:@(?P<place>below|above|this-line|unknown|[+-]\d+)\s*)?\{\{(?P<text>.*)\}\}\s*$"
)
_LINE = re.compile(r"^(?P<file>.+):(?P<line>\d+):\d+$")

KINDS = ("error", "warning", "remark")


@dataclass(frozen=True)
class Diagnostic:
    """Something that was said of a program."""

    kind: str
    """One of `KINDS`."""
    message: str
    where: str | None


@dataclass(frozen=True)
class Expectation:
    """What must be said of `line` (None: without a line), written on the line `written`."""

    kind: str
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
        kind = match["kind"].removesuffix("-re")
        if kind not in KINDS or rest is None:
            raise UsageError(
                "expected `expected-error|warning|remark[-re] [@below|@above|@+N|@-N|@this-line|@unknown] "
                f"{{{{text}}}}`, found `{match[0].strip()}`",
                where=f"{name}:{here}",
            )
        wanted = _wanted_line(rest["place"], index, is_comment)
        number = None if wanted is None else wanted + 1 + line_offset
        regex = match["kind"] != kind
        pattern = _pattern(rest["text"], f"{name}:{here}") if regex else re.escape(rest["text"])
        found.append(Expectation(kind, number, pattern, rest["text"], here))
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
    name: str,
    expected: Sequence[Expectation],
    found: Sequence[Diagnostic],
    tolerated: Collection[str] = (),
) -> list[str]:
    """A message for everything found that is not expected, and for every expectation that nothing fulfils.

    What is of a kind in `tolerated` need not be expected.
    """
    open_ones = list(expected)
    messages: list[str] = []
    for one in found:
        line = _line_of(one, name)
        text = " ".join(one.message.split())
        fulfilled = next((e for e in open_ones if _fulfils(one.kind, line, text, e)), None)
        if fulfilled is not None:
            open_ones.remove(fulfilled)
        elif one.kind not in tolerated:
            place = one.where if line is not None else f"{one.where or name} (no line: @unknown)"
            messages.append(f"{place}: error: unexpected {one.kind}: {text}")
    for one in open_ones:
        place = "without a line" if one.line is None else f"on line {one.line}"
        article = "an" if one.kind == "error" else "a"
        messages.append(
            f"{name}:{one.written}: error: expected {article} {one.kind} {place}, found none: {one.text}"
        )
    return messages


def _fulfils(kind: str, line: int | None, text: str, wanted: Expectation) -> bool:
    is_there = (kind, line) == (wanted.kind, wanted.line)
    return is_there and re.search(wanted.pattern, text) is not None


def _line_of(one: Diagnostic, name: str) -> int | None:
    match = _LINE.match((one.where or "").partition(" + ")[0])  # the first of several places
    return int(match["line"]) if match is not None and match["file"] == name else None
