"""Starts children, watches them, starts others where one died or hung, and counts."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from inarch.fuzz import SECONDS
from inarch.fuzz.child import STATUS, write_seeds
from inarch.testing.spent import processor_seconds

STUCK_SECONDS = 2 * SECONDS
"""Of processor time. A child whose case does not end then is in C code, and killed."""

WAIT_SECONDS = 300
"""Of the wall clock. A child that takes no processor time and does not end waits for something."""

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
    name: str,
    seeds: Sequence[bytes],
    count: int,
    seed: int,
    *,
    start: int = 0,
    report: Callable[[int, Tally], None],
) -> Tally:
    """Runs `count` cases of parser `name` from case `start`; `report` hears how far it is."""
    tally = Tally()
    case, end = start, start + count
    with NamedTemporaryFile(suffix=".json") as file:
        write_seeds(Path(file.name), seeds)
        while case < end:
            numbers = (seed, case, min(end, case + BATCH))
            case = _batch(name, numbers, file.name, tally, report)
    report(end, tally)
    return tally


def _batch(
    name: str,
    numbers: tuple[int, int, int],
    seeds: str,
    tally: Tally,
    report: Callable[[int, Tally], None],
) -> int:
    """Runs cases (seed, first, end) until the end, or the child is lost; the next case to run."""
    _, start, end = numbers
    # A file for what it says of its end: a pipe that nobody empties would stop it.
    with NamedTemporaryFile() as status, NamedTemporaryFile("w+", errors="replace") as said:
        status.write(STATUS.pack(start, time.monotonic(), 0, 0, 0))
        status.flush()
        module = "inarch.fuzz.child"
        command = [sys.executable, "-m", module, name, *map(str, numbers), status.name, seeds]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said) as child:
            kind = _watch(child, status.name, tally, report)
        said.seek(0)
        text = said.read()[-4000:]
        case, _, _, read, refused = _status(status.name)
    tally.read += read
    tally.refused += refused
    if kind is None:
        return end
    # The first line of ours, where it is known, tells one fault from another.
    places = [
        line.strip() for line in text.splitlines() if "File" in line and "testing" not in line
    ]
    place = next((line for line in places if "site-packages" not in line), kind[1])
    tally.add({"case": case, "kind": kind[0], "place": place, "detail": f"{kind[1]}: {text}"})
    return case + 1


def _watch(
    child: subprocess.Popen[bytes], status: str, tally: Tally, report: Callable[[int, Tally], None]
) -> tuple[str, str] | None:
    """Reads what the child finds until it ends; how it was lost, if it was."""
    assert child.stdout is not None
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
            return "crash", f"exit code {code}"
        case, began, used, read, refused = _status(status)
        report(case, Tally(tally.read + read, tally.refused + refused, tally.faults))
        waited, worked = time.monotonic() - began, processor_seconds(child.pid) - used
        if worked > STUCK_SECONDS or waited > WAIT_SECONDS:
            child.send_signal(signal.SIGABRT)  # which makes it say where it is
            child.wait()
            return "hang", f"no end after {worked:.0f} s of work in {waited:.0f} s"


def _status(path: str) -> tuple[int, float, float, int, int]:
    case, began, used, read, refused = STATUS.unpack(Path(path).read_bytes())
    return int(case), float(began), float(used), int(read), int(refused)
