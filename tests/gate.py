"""The gate: what must hold before a change lands. `make test` and `.ci/run` run it.

    python tests/gate.py                      everything: lint, types, lit, unit, conformance
    python tests/gate.py lit unit             of these stages
    python tests/gate.py --said .ci/verdict   what the last run with `--verdict .ci/verdict` said of HEAD

The same commit has the same cases in the same order: `INARCH_NATIVE` pins the target, unit tests are cut
into shards by the names of their files, seeds are fixed. Jobs of a stage run beside each other, at most
`--jobs` at once. What fails is printed when it fails, with its last lines; a failed test is run once more,
alone, at the end: passes it then, it is FLAKY, which is told and lets the change land. Exit codes: 0 passed;
10, 11, ... the first stage, in the order of `--help`, that failed or did not run; 2 wrong usage; 3 this
computer lacks what the tests need; 130 it was stopped. A job's limit is of CPU seconds of all its processes:
a busy machine makes nothing red. What the whole gate took is told beside its budget (tests/seconds.py).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import seconds as cpu_seconds
from effort import let_children_hear
from gate_jobs import BIN, LOGS, ROOT, STAGES, Case, Job, jobs_of, of_report

TOTAL_S = 3600
"""Of everything; what has not begun by then did not run."""
SLACK = 4
"""How many times its CPU seconds on a quiet machine a job may take."""
PATIENCE = 5
"""How much longer than its CPU seconds may be it may take by the clock: what hangs uses none."""
LOOK_S = 2.0
"""Between looks at the CPU seconds of what runs."""
DEAR_S = 1.0
"""CPU seconds above which a case is named: it belongs to the search, or wants a smaller program."""
MOST_AGAIN = 12
"""Of failed tests that are run again. More are no flakes."""
JOB_BYTES = 1 << 30
"""Memory that one job may need."""


# ------------------------------------------------------------------------------------ running them


class Gate:
    """One run: its jobs, what they came to, and what it says while they run."""

    def __init__(self, jobs: list[Job], slots: int, environment: Mapping[str, str]) -> None:
        self.jobs = jobs
        self.slots = slots
        self.environment = environment
        self.slower = 1.0
        """How many times as long as the reference machine this computer takes."""
        self.start = time.monotonic()
        self.flaky: list[str] = []

    def run(self) -> None:
        """All jobs, then what failed once more, alone and when nothing else runs."""
        self._run(self.jobs, self.slots)
        second = self._second_tries()
        if len(second) > MOST_AGAIN:
            self.say(f"{len(second)} failed: too many to be run once more")
            return
        self._run([again for _, _, again in second], 1)
        for job, case, again in second:
            if again.verdict != "passed":
                continue
            self.flaky.append(case.name)
            self.say(f"FLAKY {case.name}: passes alone")
            case.outcome = "flaky"
            if again.command == job.command:
                job.cases = {**again.cases, case.name: case}
            if all(each.outcome != "failed" for each in job.cases.values()):
                job.verdict = "passed"

    def _run(self, jobs: Sequence[Job], slots: int) -> None:
        """Jobs in their order, `slots` at once; ends what runs where it is interrupted."""
        waiting, running = list(jobs), list[Job]()
        try:
            while waiting or running:
                while waiting and len(running) < slots and self._elapsed() < TOTAL_S:
                    job = waiting.pop(0)
                    self._begin(job)
                    running.append(job)
                if not running:
                    break  # out of time
                time.sleep(0.1)
                running = [job for job in running if not self._look(job)]
        finally:
            for job in running:
                _end(job)
                self._account(job)
                job.verdict = "was interrupted"

    def _second_tries(self) -> list[tuple[Job, Case, Job]]:
        """Of each case that failed the job that runs it alone; a job that did not come to its end, whole."""
        found: list[tuple[Job, Case, Job]] = []
        for job in self.jobs:
            failed = [case for case in job.cases.values() if case.outcome == "failed"]
            if not job.flakes or job.verdict == "was interrupted":
                continue
            if job.again is None or job.verdict != "FAILED":  # it stands for all of its cases
                failed = failed[-1:]
            for case in failed:
                whole = job.again is None or job.verdict != "FAILED"
                command = job.command if whole or job.again is None else job.again(case.name)
                again = replace(job, name=f"{job.name}-again-{len(found)}", command=command)
                again.cases, again.verdict = {}, "did not run"
                found.append((job, case, again))
        return found

    def _elapsed(self) -> float:
        return time.monotonic() - self.start

    def say(self, text: str) -> None:
        print(f"[{self._elapsed():4.0f}s] {text}", flush=True)

    def _begin(self, job: Job) -> None:
        job.report.unlink(missing_ok=True)
        report = ["--report", str(job.report)] if job.read is of_report else []
        with job.log.open("wb") as log:
            job.process = subprocess.Popen(
                [*job.command, *report],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its children end with it
            )
        job.began = job.looked = time.monotonic()
        job.place = 0

    def _look(self, job: Job) -> bool:
        """Reads what is new; whether the job has ended, or is ended here because of its limit."""
        assert job.process is not None
        pid, status, usage = os.wait4(job.process.pid, os.WNOHANG)
        for case in job.read(job) if job.read else ():
            job.cases[case.name] = case
            if case.outcome == "failed":
                self._tell(case.name, case.text)
        if pid == 0:
            if not (why := self._too_long(job)):
                return False
            _end(job)
            self._account(job)
            self._finish(job, f"FAILED: it took more than {why}")
            return True
        job.process.returncode = os.waitstatus_to_exitcode(status)
        job.seconds = time.monotonic() - job.began
        job.cpu += usage.ru_utime + usage.ru_stime
        code = job.process.returncode
        failed = any(case.outcome == "failed" for case in job.cases.values())
        if code < 0:
            self._finish(job, f"FAILED: the process died: {_signal_name(-code)}")
        elif code != 0 and not failed:
            self._finish(job, f"FAILED: exit code {code}")
        else:
            job.verdict = "FAILED" if failed else "passed"
            self.say(f"{job.name} {job.verdict} in {job.seconds:.0f} s{_counted([job])}")
        return True

    def _too_long(self, job: Job) -> str:
        """Which limit it is above; empty for none."""
        assert job.process is not None
        limit, now = SLACK * job.quiet_s * self.slower, time.monotonic()
        if now - job.began > PATIENCE * limit:
            return f"{PATIENCE * limit:.0f} s by the clock"
        if now - job.looked < min(LOOK_S, limit):
            return ""
        job.looked = now
        return (
            f"{limit:.0f} CPU s"
            if sum(cpu_seconds.of_tree(job.process.pid).values()) > limit
            else ""
        )

    def _finish(self, job: Job, verdict: str) -> None:
        """Of a job whose own end is a failure: it stands for a case, the test that was running."""
        job.verdict = verdict
        name = _running(job) or job.name
        text = job.log.read_text(errors="replace")
        job.cases[name] = Case(name, "failed", 0.0, f"{text.strip()}\n{verdict}")
        self._tell(name, job.cases[name].text)
        self.say(f"{job.name} {verdict}")

    def _account(self, job: Job) -> None:
        job.seconds = time.monotonic() - job.began
        with suppress(ChildProcessError):
            assert job.process is not None
            _, _, usage = os.wait4(job.process.pid, 0)
            job.process.returncode = -signal.SIGKILL
            job.cpu += usage.ru_utime + usage.ru_stime

    def _tell(self, name: str, text: str) -> None:
        self.say(f"FAILED {name}")
        for line in text.strip().split("\n")[-12:]:
            print(f"         {line[:300]}", flush=True)

    # -------------------------------------------------------------------------------- what it says

    def summary(self) -> list[str]:
        """A line a stage, with what failed by name; then what the figures depend on."""
        lines: list[str] = []
        for stage in dict.fromkeys(job.stage for job in self.jobs):
            jobs = [job for job in self.jobs if job.stage == stage]
            bad = [job for job in jobs if job.verdict != "passed"]
            names = [c.name for job in jobs for c in job.cases.values() if c.outcome == "failed"]
            verdict = "passed" if not bad else "FAILED"
            if all(job.verdict in ("did not run", "was interrupted") for job in bad) and bad:
                verdict = bad[0].verdict
            seconds = sum(job.seconds for job in jobs)
            cpu = sum(job.cpu for job in jobs)
            line = f"{stage:12} {verdict}{_counted(jobs)}, {seconds:.0f} s, {cpu:.0f} CPU s"
            lines.append(line + (": " + ", ".join(names) if names else ""))
        return lines

    @property
    def failed(self) -> list[str]:
        """The stages that did not pass."""
        return list(dict.fromkeys(job.stage for job in self.jobs if job.verdict != "passed"))


def _running(job: Job) -> str:
    """The test that had begun and did not end, of a shard of unit tests."""
    with suppress(FileNotFoundError):
        begun = [json.loads(line) for line in job.report.read_text().splitlines() if line]
        if begun and "outcome" not in begun[-1]:
            return str(begun[-1]["name"])
    return ""


def _counted(jobs: Sequence[Job]) -> str:
    outcomes = [case.outcome for job in jobs for case in job.cases.values()]
    counts = {name: outcomes.count(name) for name in ("passed", "failed", "flaky", "skipped")}
    return "".join(f", {count} {name}" for name, count in counts.items() if count)


def _end(job: Job) -> None:
    """The process and all that it started; first so that it can say where it is."""
    assert job.process is not None
    others = cpu_seconds.of_tree(job.process.pid).keys()  # also those of a session of their own
    for kind, patience in ((signal.SIGINT, 2.0), (signal.SIGKILL, 0.0)):
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, kind)
        time.sleep(patience)
    for pid in others:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


# ------------------------------------------------------------------------------------ this computer


def _environment() -> dict[str, str]:
    """That of every job: what a test finds there is the same on each computer."""
    kept = {
        name: value
        for name, value in os.environ.items()
        # Without bytecode each process of a test would compile all of Inarch again: 0.3 s, hundreds of times.
        if name not in ("INARCH_SOAK", "PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
    }
    if platform.machine().lower() in ("x86_64", "amd64"):
        kept.setdefault("INARCH_NATIVE", "x86-64-v3")
    path = os.pathsep.join((str(BIN), kept.get("PATH", os.defpath)))
    return {**kept, "PATH": path, "PYTHONHASHSEED": "0", "INARCH_SEED": "0", "CI": "1"}


def _lacks() -> str:
    """Why nothing can be tested here, in a line; empty where it can."""
    try:
        LOGS.mkdir(parents=True, exist_ok=True)
        (LOGS / "begun").write_text("")
    except OSError as error:
        place = LOGS.relative_to(ROOT)
        return f"expected to write in {place}, found: {error.strerror}; use a copy of the tree"
    for tool in ("ruff", "pyrefly", "lit"):
        if not (BIN / tool).exists():
            return (
                f"expected {tool} beside {Path(sys.executable).name}, found none; run 'make setup'"
            )
    compilers = [os.environ.get("CC", "").split(" ")[0], "gcc", "clang", "clang-19", "cc"]
    if any(name and shutil.which(name) for name in compilers) or find_spec("ziglang"):
        return ""
    return "expected a C compiler (gcc, clang, or the package ziglang), found none; install one, or set CC"


def _slots() -> int:
    """As many jobs as there are processors for this process, and memory for."""
    count = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text()
        free = int(text.partition("MemAvailable:")[2].split()[0]) * 1024
        count = min(count, free // JOB_BYTES)
    return max(1, count)


def _cpu() -> str:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return (
            next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
        )
    return platform.machine()


def _load() -> str:
    with suppress(OSError):
        return f"{os.getloadavg()[0]:.1f}"
    return "?"


def commit() -> str:
    """HEAD, with `+` where the tree differs from it; `unknown` where git does not say."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != ROOT.resolve():
            return "unknown"  # a tree without .git, within another project's
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    half = path.with_name(path.name + ".half")
    half.write_text(text)
    half.replace(path)


def said(path: Path) -> int:
    """Prints whether HEAD is what passed; 0 if so."""
    try:
        words = path.read_text().split("\n", 1)[0].split()
        verdict, found, seconds = words
    except (OSError, ValueError):
        print(f"{path}: expected the verdict of a run, found none; run .ci/run")
        return 1
    here = commit()
    if found != here:
        print(
            f"{verdict} {found[:12]}{'+' * found.endswith('+')} in {seconds} s, and HEAD is {here[:12]}"
            f"{'+' * here.endswith('+')}: run .ci/run"
        )
        return 1
    print(f"{verdict} {here[:12]}{'+' * here.endswith('+')} in {seconds} s")
    return 0 if verdict == "passed" and not here.endswith("+") else 1


# ------------------------------------------------------------------------------------ the command


def _arguments(words: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        prog="tests/gate.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    say = parser.add_argument
    say("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all by default")
    say("--jobs", type=int, help="processes at once; as many as processors and memory allow")
    say("--verdict", type=Path, metavar="FILE", help="where to leave `passed COMMIT SECONDS`")
    say("--said", type=Path, metavar="FILE", help="say whether HEAD is what passed, run nothing")
    say("--json", action="store_true", help="the summary as one JSON object, at the end")
    given = parser.parse_args(words)
    for name in given.stages:
        if name not in STAGES:
            parser.error(f"expected a stage of {', '.join(STAGES)}, found '{name}'")
    return given


def main(words: Sequence[str] | None = None) -> int:
    """Runs the gate; its exit code."""
    given = _arguments(words)
    if given.said:
        return said(given.said)
    if lacks := _lacks():
        print(f"error: {lacks}", file=sys.stderr)
        return 3
    environment, before = _environment(), _load()
    began = commit()
    if given.verdict:
        given.verdict.unlink(missing_ok=True)
    gate = Gate(jobs_of(given.stages or STAGES), given.jobs or _slots(), environment)
    gate.slower = cpu_seconds.slowness()
    target = environment.get("INARCH_NATIVE", "native")
    gate.say(
        f"{began[:12]}, {_cpu()}, {gate.slots} jobs at once, target {target}; logs in build/gate"
    )
    let_children_hear()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stopped = True
    with suppress(KeyboardInterrupt):
        gate.run()
        stopped = False
    seconds = time.monotonic() - gate.start
    cases = [case for job in gate.jobs for case in job.cases.values()]
    dear = sorted((c for c in cases if c.cpu > DEAR_S), key=lambda c: -c.cpu)
    cpu = sum(job.cpu for job in gate.jobs)
    print()
    if dear:
        some = ", ".join(f"{c.name} {c.cpu:.1f}" for c in dear[:8])
        print(f"{len(dear)} cases above {DEAR_S:.0f} CPU s: {some}")
    for line in gate.summary():
        print(line)
    for name in gate.flaky:
        print(f"FLAKY {name}")
    seeds = (
        f"INARCH_SEED={environment['INARCH_SEED']} PYTHONHASHSEED={environment['PYTHONHASHSEED']}"
    )
    print(f"{_cpu()}, load {before} before, {_load()} after, target {target}, {seeds}")
    failed = [case.name for case in cases if case.outcome == "failed"]
    if not given.stages:
        print(cpu_seconds.budget_said(cpu, gate.slower))
    passed = not gate.failed
    print(f"{'passed' if passed else 'FAILED'}: {seconds:.0f} s, {cpu:.0f} CPU s")
    if given.verdict:
        lines = [f"{'passed' if passed else 'failed'} {began} {seconds:.0f}"]
        lines += [f"FAILED {name}" for name in failed] + [f"FLAKY {name}" for name in gate.flaky]
        _write(given.verdict, "\n".join(lines) + "\n")
    if given.json:
        found = {
            "passed": passed,
            "commit": began,
            "seconds": seconds,
            "cpu": cpu,
            "failed": failed,
        }
        print(json.dumps({**found, "flaky": gate.flaky, "stages": gate.failed, "target": target}))
    good = sum(case.outcome in ("passed", "flaky") for case in cases)
    skipped = sum(case.outcome == "skipped" for case in cases)
    print(f"{good} passed, {len(failed)} failed, {skipped} skipped")
    if stopped:
        return 130
    if gate.failed:
        return 10 + min(STAGES.index(stage) for stage in gate.failed)
    return 0 if passed else 20


if __name__ == "__main__":
    sys.exit(main())
