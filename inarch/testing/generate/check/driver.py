"""Runs workers over a range of programs: a crash or a hang is a finding, and the rest goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from inarch.testing.generate.check.worker import Job
from inarch.testing.spent import processor_seconds

LIBRARIES = 16
"""Of one worker: its start takes as long as one of them, and memory grows with their number."""

Progress = Callable[[int, int, int], None]
"""Called with the programs done, all programs, and the findings so far."""


@dataclass
class Outcome:
    """What a check has found; grows while it runs."""

    done: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seconds: float = 0.0
    taken: set[int] = field(default_factory=set[int])
    """The programs of which backends have a part."""


def check(
    job: Job,
    *,
    jobs: int = 1,
    seconds_each: float = 120.0,
    progress: Progress = lambda _done, _all, _findings: None,
) -> Outcome:
    """Compares `job.count` programs with their definition, in `jobs` processes at once.

    A worker that works for `seconds_each` in silence is ended; the program that it was at is a finding
    (`timeout`), as is one at which it died (`crash`), and another worker goes on behind it.
    """
    outcome, lock, begin = Outcome(), threading.Lock(), time.monotonic()  # noqa: TID251  # a fork is no part of it
    share = job.batch * max(1, min(LIBRARIES, job.count // job.batch // jobs))
    pieces = [
        replace(job, start=start, count=min(share, job.start + job.count - start))
        for start in range(job.start, job.start + job.count, share)
    ]

    def run(piece: Job) -> None:
        left: Job | None = piece
        while left is not None:
            left = _run_worker(left, seconds_each, note)

    def note(event: dict[str, Any]) -> None:
        with lock:
            if event["event"] == "done":
                outcome.done += int(event["count"])
            elif event["event"] == "taken":
                outcome.taken.add(int(event["index"]))
            else:
                outcome.findings.append({k: v for k, v in event.items() if k != "event"})
            progress(outcome.done, job.count, len(outcome.findings))

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for future in [pool.submit(run, piece) for piece in pieces]:
            future.result()
    outcome.findings.sort(key=lambda one: (one["index"], one["target"]))
    outcome.seconds = time.monotonic() - begin
    return outcome


def _run_worker(
    job: Job, seconds_each: float, note: Callable[[dict[str, Any]], None]
) -> Job | None:
    """Runs one worker; what is left to do when it died."""
    command = [
        sys.executable,
        "-m",
        "inarch.testing.generate.check.worker",
        json.dumps(asdict(job)),
    ]
    errors: list[str] = []
    done, last, hung = job.start, {"index": job.start, "target": ""}, threading.Event()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None, "it is a pipe"
        reader = threading.Thread(target=_drain, args=(process.stderr, errors), daemon=True)
        reader.start()
        watch = _Watch(process, seconds_each, hung)
        for line in process.stdout:
            event = json.loads(line)
            watch.rest(seconds_each + (job.shrink if event["event"] == "shrink" else 0))
            if event["event"] == "done":
                done = int(event["index"])
            if event["event"] in ("done", "finding", "taken"):
                note(event)
            else:
                last = event
        status = process.wait()
        watch.stop()
        reader.join()
    if status == 0:
        return None
    kind = "timeout" if hung.is_set() else "crash"
    said = "".join(errors).strip().splitlines()[-1:] or [f"exit status {status}"]
    note({
        "event": "finding", "kind": kind, "level": job.level, "seed": job.seed,
        "index": int(last["index"]), "target": str(last["target"]),
        "message": f"while it was at '{last.get('event', 'start')}': {said[0][:400]}", "path": "",
    })  # fmt: skip
    return _left(job, done, int(last["index"]), note)


def _left(job: Job, done: int, index: int, note: Callable[[dict[str, Any]], None]) -> Job | None:
    """What is to be done after a death at `index`: the programs of its batch one by one, without it."""
    end = job.start + job.count
    if index == done:
        note({"event": "done", "index": index + 1, "count": 1})
        begin = index + 1
    else:
        begin = done
    if begin >= end:
        return None
    return replace(job, start=begin, count=end - begin, batch=1)


def _drain(stream: Any, lines: list[str]) -> None:
    lines.extend(stream)


_WAITED = 10
"""On a busy machine a process that may take 120 s of the processor gets them in this many times as long."""


class _Watch:
    """Ends a process that has worked for too long in silence, or waited `_WAITED` times as long."""

    def __init__(
        self, process: subprocess.Popen[str], seconds: float, hung: threading.Event
    ) -> None:
        self._process, self._hung = process, hung
        self.rest(seconds)
        self._stopped = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def rest(self, seconds: float) -> None:
        """It has said something: so long it may be silent now."""
        self._worked = processor_seconds(self._process.pid) + seconds
        self._until = time.monotonic() + _WAITED * seconds

    def stop(self) -> None:
        """It has ended."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(0.5):
            worked = processor_seconds(self._process.pid)
            if worked > self._worked or time.monotonic() > self._until:
                self._hung.set()
                self._process.kill()
                return
