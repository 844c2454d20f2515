"""The jobs of the gate: what each stage runs, for how many CPU seconds, and the cases that it has written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build" / "gate"
BIN = Path(sys.executable).parent

SHARDS = 8
"""Of the unit tests. A file's name says which, so that a new file moves no other one."""
LIT_SHARDS = 2


@dataclass
class Case:
    """What one test came to."""

    name: str
    outcome: str
    cpu: float = 0.0
    text: str = ""


@dataclass
class Job:
    """One process of a stage."""

    stage: str
    name: str
    command: list[str]
    quiet_s: float
    """CPU seconds that it takes on the quiet reference machine; its limit is `SLACK` times that."""
    read: Callable[[Job], Iterator[Case]] | None = None
    """Reads new cases from the output; None: it prints none."""
    again: Callable[[str], list[str]] | None = None
    """What runs one of its cases alone."""
    flakes: bool = True
    """Whether it may say something else when it is run once more."""
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    looked: float = 0.0
    """When its CPU seconds were last counted."""
    place: int = 0
    """How much of the log, or of the report, is read."""
    cases: dict[str, Case] = field(default_factory=dict[str, Case])
    seconds: float = 0.0
    cpu: float = 0.0
    verdict: str = "did not run"

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name}.log"

    @property
    def report(self) -> Path:
        return LOGS / f"{self.name}.jsonl"


def _pytest(*words: str) -> list[str]:
    plain = ["-p", "no:xdist", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", "-q", *plain, *words]


def jobs_of(chosen: Sequence[str]) -> list[Job]:
    """All jobs, the longest first where that is known: what waits for whom decides how long it takes."""
    tools = str(BIN)
    lint = f"'{tools}/ruff' check --quiet && '{tools}/ruff' format --quiet --check"
    types = [f"{tools}/pyrefly", "check", "--python-interpreter-path", sys.executable]
    jobs = [
        Job("lint", "lint", ["sh", "-c", lint], 15, flakes=False),
        Job("types", "types", types, 20, flakes=False),
    ]
    for number in range(SHARDS):
        name = f"unit-{number}"
        words = ["-m", "not slow and not fuzz", "--shard", f"{number}/{SHARDS}"]
        jobs.append(Job("unit", name, _pytest(*words), 120, of_report, _pytest))
    lit = [sys.executable, f"{tools}/lit", "-v", "-j1", "--order=lexical"]
    for number in range(1, LIT_SHARDS + 1):
        share = ["--num-shards", str(LIT_SHARDS), "--run-shard", str(number), "tests/lit"]
        jobs.append(
            Job("lit", f"lit-{number}", [*lit, *share], 90, of_lit, lambda one: [*lit, one])
        )
    suite = [sys.executable, "tests/conformance/suite.py", "--jobs", "1"]
    jobs.append(
        Job(
            "conformance",
            "conformance",
            [*suite, "--families"],
            90,
            of_report,
            lambda one: [*suite, f"^{re.escape(one)}$"],
        )
    )
    return [job for job in jobs if job.stage in chosen]


STAGES = ("lint", "types", "unit", "lit", "conformance")


def of_report(job: Job) -> Iterator[Case]:
    """Lines that tests/conftest.py writes: `{"name", "outcome", "cpu", "text"}`."""
    for line in _new_lines(job, job.report):
        data = json.loads(line)
        if "outcome" in data:
            yield Case(**data)


_LIT = re.compile(
    r"^(PASS|FAIL|XFAIL|XPASS|UNRESOLVED|TIMEOUT|UNSUPPORTED): inarch :: (\S+)", re.MULTILINE
)
_LIT_OUTCOMES = {"PASS": "passed", "XFAIL": "passed", "UNSUPPORTED": "skipped"}


def of_lit(job: Job) -> Iterator[Case]:
    for line in _new_lines(job, job.log):
        if found := _LIT.match(line):
            name = f"tests/lit/{found[2]}"
            outcome = _LIT_OUTCOMES.get(found[1], "failed")
            yield Case(name, outcome, 0.0, _lit_text(job, found[2]) if outcome == "failed" else "")


def _lit_text(job: Job, name: str) -> str:
    log = job.log.read_text(errors="replace")
    _, _, text = log.partition(f"TEST 'inarch :: {name}' FAILED")
    return text.partition("\n********************\n")[0]


def _new_lines(job: Job, path: Path) -> Iterator[str]:
    """The whole lines that were added since the last look."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(job.place)
        data = file.read()
        whole, end, _ = data.rpartition(b"\n")
        job.place += len(whole) + len(end)
        yield from whole.decode(errors="replace").split("\n") if end else ()
