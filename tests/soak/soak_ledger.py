"""The ledger of the search: a line for each unit that ended, in `tests/soak.jsonl`, which is committed."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from soak_finds import loads


@dataclass(frozen=True)
class Home:
    """The clone: the files read and written there."""

    root: Path = Path(__file__).resolve().parents[2]

    @property
    def ledger(self) -> Path:
        """Of all machines; committed."""
        return self.root / "tests" / "soak.jsonl"

    @property
    def found(self) -> Path:
        """Files of findings."""
        return self.root / "tests" / "found"

    @property
    def state(self) -> Path:
        """Of this clone."""
        return self.root / "build" / "soak"

    @cached_property
    def commit(self) -> str:
        """What is checked out, `+` where more than the search has changed it; `?` without git."""
        head = self.git("rev-parse", "--short=12", "HEAD")
        ours = [f":!{path.relative_to(self.root)}" for path in (self.ledger, self.found)]
        return (
            (head + "+" * bool(self.git("status", "--porcelain", "--", ".", *ours)))
            if head
            else "?"
        )

    def git(self, *words: str) -> str:
        """What git says; nothing where there is none, or it refuses."""
        try:
            done = subprocess.run(
                ["git", "-C", str(self.root), *words], capture_output=True, text=True, check=False
            )
        except OSError:
            return ""
        return done.stdout.strip()


def processor() -> str:
    """The model of this machine's processor."""
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.machine()


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a ledger; other text (merge markers, half a line) is reported and skipped."""
    if not path.exists():
        return []
    found: list[dict[str, Any]] = []
    for number, text in enumerate(path.read_text(errors="replace").splitlines(), 1):
        line: Any = loads(text)
        if isinstance(line, dict) and "part" in line:
            found.append(cast("dict[str, Any]", line))
        elif text.strip():
            print(
                f"{path.name}:{number}: expected a line of the search, found {text[:40]!r}",
                file=sys.stderr,
            )
    return found


def add_line(path: Path, line: Mapping[str, Any]) -> None:
    """Appends one line by one write: other writers' lines, and a stop at any time, leave it whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(line) + "\n"
    with path.open("ab+") as file:
        file.seek(0, os.SEEK_END)
        if end := file.tell():
            file.seek(end - 1)
            text = (
                text if file.read(1) == b"\n" else "\n" + text
            )  # after half a line of another program
        os.write(file.fileno(), text.encode())


def next_seed(part: str, lines: Sequence[Mapping[str, Any]]) -> int:
    """The successor of the greatest that the part has had."""
    had = [line["seeds"][1] for line in lines if line["part"] == part and line.get("seeds")]
    return max(had, default=0) + 1  # 0 is the gate's
