"""Starts children, watches them, starts others where one died or hung, and counts."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from inarch.testing.fuzz import SECONDS
from inarch.testing.fuzz._child import STATUS

STUCK_SECONDS = 6 * SECONDS
"""Of the wall clock. A child whose case does not end then is killed: it waits, or is in C code."""

BATCH = 20_000
"""Cases that one child runs: what they leak together stays small."""


@dataclass
class Tally:
    """What a run has come to."""

    read: int = 0
    refused: int = 0
    faults: dict[tuple[str, str], list[dict[str, Any]]] = field(
        default_factory=dict[tuple[str, str], list[dict[str, Any]]]
    )
    """By kind and place: the cases, each with `case` and `detail`."""

    @property
    def findings(self) -> int:
        """Cases that ended in no good way."""
        return sum(len(cases) for cases in self.faults.values())

    def add(self, found: dict[str, Any]) -> None:
        """Notes one finding."""
        self.faults.setdefault((found["kind"], found["place"]), []).append(found)


def run(
    name: str, count: int, seed: int, *, start: int = 0, report: Callable[[int, Tally], None]
) -> Tally:
    """Runs `count` cases of parser `name` from case `start`; `report` hears how far it is."""
    tally = Tally()
    case, end = start, start + count
    while case < end:
        case = _batch(name, seed, case, min(end, case + BATCH), tally, report)
    report(end, tally)
    return tally


def _batch(
    name: str, seed: int, start: int, end: int, tally: Tally, report: Callable[[int, Tally], None]
) -> int:
    """Runs cases until `end`, or until the child is lost; the next case to run."""
    with NamedTemporaryFile() as status:
        status.write(STATUS.pack(start, time.monotonic(), 0, 0))
        status.flush()
        module = "inarch.testing.fuzz._child"
        command = [sys.executable, "-m", module, name, *map(str, (seed, start, end)), status.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:  # noqa: S603
            kind = _watch(child, status.name, tally, report)
        case, _, read, refused = _status(status.name)
    tally.read += read
    tally.refused += refused
    if kind is None:
        return end
    tally.add({"case": case, "kind": kind[0], "place": kind[1], "detail": kind[1]})
    return case + 1


def _watch(
    child: subprocess.Popen[bytes], status: str, tally: Tally, report: Callable[[int, Tally], None]
) -> tuple[str, str] | None:
    """Reads what the child finds until it ends; how it was lost, if it was."""
    assert child.stdout is not None
    assert child.stderr is not None
    while True:
        ready, _, _ = select.select([child.stdout], [], [], 0.5)
        if ready:
            line = child.stdout.readline()
            if line:
                tally.add(json.loads(line))
                continue
            code = child.wait()
            if code == 0:
                return None
            tail = child.stderr.read().decode(errors="replace")[-2000:]
            return "crash", f"exit code {code}: {tail}"
        case, began, read, refused = _status(status)
        report(case, Tally(tally.read + read, tally.refused + refused, tally.faults))
        if time.monotonic() - began > STUCK_SECONDS:
            child.kill()
            child.wait()
            return "hang", f"no end after {STUCK_SECONDS} s"


def _status(path: str) -> tuple[int, float, int, int]:
    case, began, read, refused = STATUS.unpack(Path(path).read_bytes())
    return int(case), float(began), int(read), int(refused)
