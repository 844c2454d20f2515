"""The table of faults that no operator makes: caches, keys, aliasing, the ABI, emitted C, numbers.

A row is what breaks, and a list of FILE::FUNCTION (or FILE alone), the old text, the new text, and the
tests that should see it, if the runner need not look for them. White space of the old text does not count.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

import operators
from operators import Fault, Places


@dataclass(frozen=True)
class Row:
    """One fault, anchored by function and text."""

    path: str
    function: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]

    def fault(self, text: str) -> Fault:
        """The fault of the file's text. Raises ValueError: the row does not fit."""
        first, last = 0, len(text)
        function = operators.functions(text).get(self.function) if self.function else None
        if function is not None:
            lines, (begin, end) = text.splitlines(keepends=True), operators.span(function)
            first = len("".join(lines[: begin - 1]))
            last = first + len("".join(lines[begin - 1 : end]))
        elif self.function:
            raise ValueError(f"there is no function {self.function}")
        found = list(re.finditer(_pattern(self.old), text[first:last]))
        if len(found) != 1:
            raise ValueError(f"expected its old text once, found it {len(found)} times")
        old, before = found[0][0], text[: first + found[0].start()]
        start, line = len(before.encode()), before.count("\n") + 1
        place = (start, start + len(old.encode()), self.new, line, old)
        fault = Fault(self.path, self.function, "row", *place, self.breaks, self.tests)
        if function is not None and not operators.is_python(fault, Places(text), function):
            raise ValueError("its new text is no Python")
        return fault


def _pattern(old: str) -> str:
    """What matches the text however it is broken into lines, with a comma before a bracket or without."""
    found = ""
    for token in re.findall(r"\w+|[^\w\s]", old):
        if found:
            is_joined = found[-1].isalnum() or found[-1] == "_"
            found += r"\s+" if is_joined and re.match(r"\w", token) else r"\s*"
        found += rf",?\s*\{token}" if token in ")]}" else re.escape(token)
    return found


def read_rows(table: Path, root: Path) -> tuple[list[Row], list[str]]:
    """The rows that fit the tree at `root`, and a line for each that does not."""
    entries: dict[str, list[str]] = tomllib.loads(table.read_text("utf-8"))
    rows: list[Row] = []
    wrong: list[str] = []
    for breaks, (place, old, new, *tests) in entries.items():
        path, _, function = place.partition("::")
        row = Row(path, function, old, new, breaks, tuple(tests))
        try:
            files = [path, *(shlex.split(test)[0].partition("::")[0] for test in tests)]
            if gone := [file for file in files if not (root / file).exists()]:
                raise ValueError(f"there is no {gone[0]}")
            row.fault((root / path).read_text("utf-8"))
            rows.append(row)
        except ValueError as error:
            wrong.append(f"{place}: {breaks}: {error}")
    return rows, wrong
