"""The command line of a search by seeds: its options, its end after so many seconds, and its findings."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any


def add_seeds(parser: ArgumentParser, count: int) -> None:
    """Adds `--seed`, `--run`, `--count` (of models), `--seconds` and `--json`."""
    add = parser.add_argument
    add("--seed", type=int, default=0, help="of the first model (0)")
    add("--count", type=int, default=count, help=f"how many models ({count})")
    add("--run", type=int, default=0, help="skip as many runs (0)")
    add("--seconds", type=float, default=float("inf"), help="stop after as many")
    add("--json", action="store_true", help="print the findings as JSON at the end")


class Search:
    """A run of such a command: models tried so far, and findings."""

    def __init__(self, asked: Namespace) -> None:
        self._asked = asked
        self.tried = 0
        self.findings: list[dict[str, Any]] = []

    def seeds(self, batch: int = 1) -> Iterator[range]:
        """The seeds, `batch` at a time, until they end or the time does."""
        begin = time.monotonic()
        first = self._asked.seed + self._asked.run * self._asked.count
        end = first + self._asked.count
        for start in range(first, end, batch):
            if time.monotonic() - begin > self._asked.seconds:
                return
            seeds = range(start, min(start + batch, end))
            self.tried += len(seeds)
            yield seeds

    def found(self, line: str, **finding: Any) -> None:
        """Keeps a finding, and prints its line at once, unless JSON is wanted."""
        self.findings.append(finding)
        if not self._asked.json:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    def end(self, line: str, **more: Any) -> int:
        """Prints the last line, or JSON with `more`; the exit code, 1 with findings."""
        told = {"graphs": self.tried, "findings": self.findings, **more}
        sys.stdout.write((json.dumps(told) if self._asked.json else line) + "\n")
        return int(bool(self.findings))
