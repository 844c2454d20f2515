"""Errors for people at a terminal: in colour, with the line of the file and a caret below the place.

Whatever else reads the errors gets one line each. `NO_COLOR` (no-color.org) iterations colours off.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TextIO

from inarch.core.errors import InarchError
from inarch.core.outside.printable import printable_stream

_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+):(?P<column>\d+)$")
_RED, _BOLD, _PLAIN = "\033[1;31m", "\033[1m", "\033[0m"
_WIDTH = 100
"""Characters of a line that are shown."""


def tell(stream: TextIO, *errors: InarchError) -> None:
    """Writes errors to `stream`."""
    own = printable_stream(stream)  # in colour; errors are printable by themselves
    own.writelines(f"{shown(error) if stream.isatty() else error.line()}\n" for error in errors)


def shown(error: InarchError) -> str:
    """The error as a terminal shows it."""
    where, separator, message = error.line().partition("error: ")
    line = f"{where}{separator}{message}"
    if "NO_COLOR" not in os.environ:
        line = f"{_BOLD}{where}{_RED}{separator}{_PLAIN}{_BOLD}{message}{_PLAIN}"
    return "\n".join([line, *_source(error.where)])


def _source(where: str | None) -> list[str]:
    """The line at `file:line:column` and the caret below it; nothing where there is no such line."""
    match = _PLACE.match(where or "")
    if match is None:
        return []
    try:
        with Path(match["file"]).open(encoding="utf-8") as file:
            lines = [text for number, text in enumerate(file, 1) if number == int(match["line"])]
    except (OSError, UnicodeDecodeError):
        return []
    column = int(match["column"]) - 1
    if not lines or not 0 <= column <= len(lines[0]):
        return []
    text = "".join(c if c.isprintable() else " " for c in lines[0].rstrip("\n"))
    start = max(0, column - _WIDTH // 2) if len(text) > _WIDTH else 0
    return [f"  {text[start : start + _WIDTH]}", f"  {' ' * (column - start)}^"]
