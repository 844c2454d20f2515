"""The gate names what failed, runs it once more, and leaves a verdict; here with jobs that take no time."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import gate
import gate_jobs
import seconds
from effort import let_children_hear, shard_of
from gate import Gate
from gate_jobs import Job

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]


@pytest.fixture(autouse=True)
def fixture_logs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for one in (gate, gate_jobs):
        monkeypatch.setattr(one, "LOGS", tmp_path)
    monkeypatch.setattr(gate, "ROOT", tmp_path)


def shell(text: str, quiet_s: float = 5.0, *, stage: str = "types", flakes: bool = False) -> Job:
    return Job(stage, stage, ["sh", "-c", text], quiet_s, flakes=flakes)


def run(*jobs: Job) -> Gate:
    made = Gate(list(jobs), 2, {"PATH": "/usr/bin:/bin"})
    made.run()
    return made


def test_what_fails_is_named_with_its_last_lines(capsys: pytest.CaptureFixture[str]) -> None:
    made = run(shell("echo x.py: expected int; exit 1"), shell("true", stage="lint"))
    assert made.failed == ["types"]
    said = capsys.readouterr().out
    assert "FAILED types\n         x.py: expected int\n         FAILED: exit code 1\n" in said
    lines = [line.partition(",")[0] for line in made.summary()]
    assert lines == ["types        FAILED", "lint         passed"]
    assert made.summary()[0].endswith(": types")


def test_what_takes_too_long_is_ended_with_all_that_it_started() -> None:
    made = run(shell("sleep 60 & sleep 60", 0.01))
    assert made.jobs[0].verdict == "FAILED: it took more than 0 s by the clock"
    assert made.jobs[0].seconds < 30


def _said(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return ""


@pytest.mark.skipif(sys.platform != "linux", reason="others do not say what runs in /proc")
def test_limits_count_the_cpu_seconds_of_all_that_a_job_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also of a session of its own, and of what has ended; who waits for a processor takes none."""
    monkeypatch.setattr(gate, "PATIENCE", 200)
    busy = f"while :; do :; done # {os.getpid()} of {__name__}"
    for text in (
        busy,
        f"setsid sh -c '{busy}'",
        "while :; do head -c 9999999 /dev/zero >/dev/null; done",
    ):
        made = run(shell(text, 0.1))
        assert re.fullmatch(r"FAILED: it took more than \d+ CPU s", made.jobs[0].verdict), text
        mark = f"# {os.getpid()} of {__name__}"
        end = time.monotonic() + 10  # a signal takes its time
        while any(mark in _said(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
            assert time.monotonic() < end, "what it started has ended, too"
    assert run(shell("sleep 1", 0.1)).jobs[0].verdict == "passed"


def test_a_gate_that_is_dear_is_told_of() -> None:
    said = [seconds.budget_said(part * seconds.BUDGET, 1.5) for part in (1.4, 1.6)]
    assert [line.rpartition(")")[2] for line in said] == [
        ", budget 450",
        ": ABOVE the budget of 450",
    ]
    assert 1 <= seconds.slowness() <= 3


def test_a_signal_that_the_shell_ignores_ends_what_the_gate_starts() -> None:
    """`make test &` and `nohup make test` start it with such signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        let_children_hear()
        made = run(shell("kill -INT $$; true"), shell("kill -HUP $$; true", stage="lint"))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    died = "FAILED: the process died: "
    assert [job.verdict for job in made.jobs] == [f"{died}SIGINT", f"{died}SIGHUP"]


def test_what_passes_alone_is_told_and_lets_the_change_land(tmp_path: Path) -> None:
    once = f"test -e {tmp_path}/been || {{ touch {tmp_path}/been; exit 1; }}"
    made = run(shell(once, stage="conformance", flakes=True))
    assert (made.failed, made.flaky) == ([], ["conformance"])
    assert made.summary()[0].startswith("conformance  passed, 1 flaky, ")


def test_what_does_not_begin_did_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "TOTAL_S", -1)
    made = run(shell("true"))
    assert made.failed == ["types"]
    assert made.summary()[0].startswith("types        did not run")


def test_a_test_that_kills_its_process_is_named(tmp_path: Path) -> None:
    """The report has its beginning, and no end."""
    line = json.dumps({"name": "tests/a.py::test_dies"})
    job = shell(f"echo '{line}' > {tmp_path}/types.jsonl; kill -SEGV $$")
    job.read = gate_jobs.of_lit
    made = run(job)
    assert made.jobs[0].verdict == "FAILED: the process died: SIGSEGV"
    assert list(made.jobs[0].cases) == ["tests/a.py::test_dies"]


def test_the_verdict_is_of_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gate, "commit", lambda: "a" * 40)
    path = tmp_path / "verdict"
    assert gate.said(path) == 1
    for first, code in (
        ("passed " + "a" * 40, 0),
        ("failed " + "a" * 40, 1),
        ("passed " + "b" * 40, 1),
    ):
        path.write_text(f"{first} 200\nFAILED x\n")
        assert gate.said(path) == code
    assert capsys.readouterr().out == (
        f"{path}: expected the verdict of a run, found none; run .ci/run\n"
        "passed aaaaaaaaaaaa in 200 s\n"
        "failed aaaaaaaaaaaa in 200 s\n"
        "passed bbbbbbbbbbbb in 200 s, and HEAD is aaaaaaaaaaaa: run .ci/run\n"
    )


def test_shards_are_of_a_size() -> None:
    """A file's name alone says its shard; no shard has most of the files."""
    folder = Path(__file__).parents[2]
    names = [path.relative_to(folder).as_posix() for path in (folder / "unit").rglob("test_*.py")]
    counts = Counter(shard_of(name, gate_jobs.SHARDS) for name in names)
    assert set(counts) == set(range(gate_jobs.SHARDS))
    assert max(counts.values()) < 2 * len(names) / gate_jobs.SHARDS
