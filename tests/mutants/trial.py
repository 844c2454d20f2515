"""Faults are tried in a scratch copy of the tree: each by the quickest tests that run its statement."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants_warm import CANNOT
from operators import Fault
from sight import CODE, Probe, Sight, likely, probed

ROOT = Path(__file__).resolve().parents[2]
FAST = "not slow and not fuzz"
"""What the gate runs."""
FIRST, SECOND = 6.0, 4.0
"""CPU seconds of tests that run the statement; of others, where an import runs it, too."""
NOT_RUN = "not run"
"""The outcome for a fault in a statement that none of the watched tests runs."""


class MutantsError(Exception):
    """There is nothing to try, or no way to; one line."""


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: `seen`, `survived`, `not run`, or `not tried` and why."""

    fault: Fault
    verdict: str
    by: str
    seconds: float
    before: str
    after: str


@dataclass(frozen=True)
class Copy:
    """A copy of the tree in which tests run: they import the copy's `inarch`, by PYTHONPATH."""

    root: Path
    extra: tuple[str, ...] = ()
    """Tests that the command line names, looked at beside the likely ones."""

    @classmethod
    def make(cls, folder: Path, extra: Sequence[str]) -> Copy:
        """A copy without what can be made again; compiled Python and compiled C come with it."""
        left_out = shutil.ignore_patterns(
            ".git", ".venv*", "build", "dist", ".hypothesis", ".*_cache", "*.egg-info"
        )
        shutil.copytree(ROOT, folder, symlinks=True, ignore=left_out)
        if (compiled := ROOT / "build" / "test-cache").is_dir():  # kept by content: good here, too
            _link(compiled, folder / "build" / "test-cache")
        folder.with_name("tmp").mkdir()
        copy = cls(folder, tuple(extra))
        _, said = copy.run(
            [sys.executable, "-c", "import inarch; print(inarch.__file__)"], limit=60
        )
        if not said.startswith(str(folder)):
            raise MutantsError(f"error: expected {folder} to import itself, found {said.strip()}")
        top = [name for name in CODE if (folder / name).is_dir()]
        copy.run([sys.executable, "-m", "compileall", "-q", *top], limit=600)
        return copy

    def start(
        self,
        command: Sequence[str],
        output: Any,
        *,
        limit: float,
        fds: Sequence[int],
        **more: str,
    ) -> subprocess.Popen[str]:
        """A process with `limit` CPU seconds."""
        kept = {k: v for k, v in os.environ.items() if k not in {"INARCH_CACHE_DIR", "INARCH_SOAK"}}
        path = os.pathsep.join((str(self.root), str(self.root / "tests" / "mutants")))
        if "compileall" not in command:  # that of a fault is never kept
            more["PYTHONDONTWRITEBYTECODE"] = "1"

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))

        return subprocess.Popen(
            command,
            cwd=self.root,
            env={**kept, "PYTHONPATH": path, "TMPDIR": str(self.root.with_name("tmp")), **more},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=fds,
            text=True,
            preexec_fn=limited,  # noqa: PLW1509 - no threads here
        )

    def run(self, command: Sequence[str], *, limit: float, **more: str) -> tuple[int | None, str]:
        """Exit code, None for a hang, and output."""
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = self.start(command, output, limit=limit, fds=(), **more)
            try:
                code = process.wait(timeout=4 * limit + 60)
            except subprocess.TimeoutExpired:
                code = -signal.SIGXCPU
            _end(process)
            output.seek(0)
            return (None if code == -signal.SIGXCPU else code), output.read()

    @contextlib.contextmanager
    def watched(
        self, paths: Sequence[str], seconds: float, most: float = FIRST
    ) -> Generator[Watched]:
        """The likely tests of the files, of which `seconds` of CPU time have run once, with probes.

        A fault gets `most` CPU seconds of them.
        """
        if not paths:
            yield Watched(self, Sight())
            return
        texts = {path: (self.root / path).read_text("utf-8") for path in paths}
        numbers: list[Probe] = []
        log = self.root / "mutants.log"
        with contextlib.ExitStack() as stack:
            try:
                for path, text in texts.items():
                    self.write(path, probed(path, text, numbers))
                log.unlink(missing_ok=True)
                ask = stack.enter_context(self._warm(paths, log))
                told = {"RECORD": "1", "CPU": str(seconds)}
                ask([], "", seconds + 120, told)
                sight = Sight.read(log, numbers)
            finally:
                for path, text in texts.items():
                    self.restore(path, text)
            yield Watched(self, sight, ask, most)

    @contextlib.contextmanager
    def _warm(self, paths: Sequence[str], log: Path) -> Generator[Ask]:
        """A process that has collected the likely tests."""
        files = likely(self.root, paths, self.extra)
        of_lit = [file for file in files if file.startswith("tests/lit")]
        of_pytest = [file for file in files if not file.startswith("tests/lit")]
        (theirs, requests), (replies, own) = os.pipe(), os.pipe()
        told = {"requests": theirs, "replies": own, "lit": of_lit, "paths": list(paths)}
        room = self.root / "mutants.warm"
        room.write_text(json.dumps(told))
        process = self.start(
            [*_pytest(of_pytest), "-p", "mutants_warm", "tests/mutants/mutants_warm.py"],
            subprocess.DEVNULL,
            limit=1200,
            fds=(theirs, own),
            INARCH_MUTANTS_WARM=str(room),
            INARCH_MUTANTS_LOG=str(log),
            INARCH_MUTANTS_RECORD="1",
        )
        os.close(theirs)
        os.close(own)
        with os.fdopen(requests, "w") as asks, os.fdopen(replies) as answers:

            def ask(
                tests: Sequence[str], put: str, limit: float, tell: dict[str, str]
            ) -> int | str:
                request = {"tests": list(tests), "put": put, "limit": limit, "tell": tell}
                try:
                    print(json.dumps(request), file=asks, flush=True)
                except BrokenPipeError:
                    return CANNOT
                line = answers.readline()
                return json.loads(line)["code"] if line else CANNOT

            try:
                yield ask
            finally:
                _end(process)

    def write(self, path: str, text: str) -> None:
        """Python looks at the second and the size: bytecode of the sound file may be as new and as long."""
        (self.root / path).write_text(text)
        now = (ROOT / path).stat().st_mtime_ns + 2_000_000_000
        os.utime(self.root / path, ns=(now, now))

    def restore(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)
        shutil.copystat(ROOT / path, self.root / path)


def _link(source: Path, target: Path) -> None:
    """A copy of files that nobody changes in place, of links where the file system has them."""
    try:
        shutil.copytree(source, target, copy_function=os.link)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)


Ask = Callable[[Sequence[str], str, float, dict[str, str]], int | str]
"""Runs tests (none: all), with the fault of a file, for so many CPU seconds, and what a child is told."""


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # with the compilers that it started
    process.wait()


@dataclass(frozen=True)
class Watched:
    """Tests whose statements are known, in a process that has imported them."""

    copy: Copy
    sight: Sight
    ask: Ask | None = None
    most: float = FIRST

    def outcome(self, fault: Fault) -> Outcome:
        """Whether tests see the fault; the copy is as before, whatever happens."""
        start = time.monotonic()
        copy, root = self.copy, self.copy.root
        text = (root / fault.path).read_text("utf-8")
        build, kept = root / "build", root / "build-kept"
        # A fault in code of the cache could find entries that were made without it.
        fresh = build.exists() and re.search(r"\bcache|key_of|sha256", text) is not None
        if fresh:
            build.rename(kept)
        copy.write(fault.path, fault.put(text))
        try:
            verdict, by = self._verdict(fault)
        finally:
            copy.restore(fault.path, text)
            if fresh:
                shutil.rmtree(build, ignore_errors=True)
                kept.rename(build)
        named = fault.tests and by.startswith("tests/") and self._by_named([shlex.quote(by)])
        if named or (
            self.ask and "[" in by and by not in self.sight.seconds and self._by_warm([by], "")
        ):
            verdict, by = "not tried", f"{by} fails without it, too"
        return Outcome(fault, verdict, by, round(time.monotonic() - start, 1), *fault.lines(text))

    def _verdict(self, fault: Fault) -> tuple[str, str]:
        if fault.tests:
            by = self._by_named(fault.tests)
            return ("seen", by) if by else ("survived", "")
        sight = self.sight
        reached, anywhere = sight.tests_of(fault.path, fault.line)
        if not reached and not anywhere:
            return NOT_RUN, f"none of {len(sight.seconds)} tests"
        listed = sight.cheapest(reached, self.most)
        others = sight.cheapest(set(sight.seconds) - reached, SECOND) if anywhere else []
        by = self._by_warm(listed, fault.path)
        if not by and (tables := sight.tables_of(fault.path)):  # cases that nobody has looked at
            by = self._by_warm(tables, fault.path, str(self.most / 2)) or by
        if by is None or (not by and anywhere):  # what an import has done is as it was
            by = self._by_fresh(listed) or self._by_fresh(others)
        return ("seen", by) if by else ("survived", f"{len(listed) + len(others)} tests")

    def _by_warm(self, tests: Sequence[str], path: str, most: str = "") -> str | None:
        """The test that fails by the fault alone; empty if none does, None: unknown.

        After `most` CPU seconds no other test begins.
        """
        if not tests or self.ask is None:
            return ""
        log = self.copy.root / "mutants.log"
        log.unlink(missing_ok=True)
        limit = 4 * sum(self.sight.seconds.get(test, SECOND) for test in tests) + 10
        code = self.ask(tests, path, limit, {"RECORD": "", "CPU": most})
        if code == CANNOT:
            return None
        return "" if code == 0 else _seen(log, "a hang" if code == "hang" else "")

    def _by_fresh(self, tests: Sequence[str]) -> str:
        """As above, in processes that import everything anew."""
        limit = 4 * sum(self.sight.seconds[test] for test in tests) + 30
        if of_lit := [test for test in tests if test.startswith("tests/lit")]:
            code, output = self.copy.run(_lit(of_lit), limit=limit)
            if code != 0:
                return "a hang" if code is None else _failed_lit(output)
        listed = [test for test in tests if not test.startswith("tests/lit")]
        wanted = self.copy.root / "mutants.tests"
        wanted.write_text("\n".join(listed))
        files = list(dict.fromkeys(test.partition("::")[0] for test in listed))
        return self._by_pytest(files, limit, INARCH_MUTANTS_TESTS=str(wanted)) if files else ""

    def _by_named(self, tests: Sequence[str]) -> str:
        """As above, of the tests that a row names: files of lit, or what pytest takes."""
        words = [shlex.split(test) for test in tests]
        if of_lit := [each[0] for each in words if each[0].startswith("tests/lit")]:
            code, output = self.copy.run(_lit(of_lit), limit=120)
            if code != 0:
                return "a hang" if code is None else _failed_lit(output)
        of_pytest = [each for each in words if not each[0].startswith("tests/lit")]
        return next(
            filter(None, (self._by_pytest(e, 180, INARCH_MUTANTS_CPU="60") for e in of_pytest)), ""
        )

    def _by_pytest(self, words: Sequence[str], limit: float, **told: str) -> str:
        log = self.copy.root / "mutants.log"
        log.unlink(missing_ok=True)
        code, _ = self.copy.run(_pytest(words), limit=limit, INARCH_MUTANTS_LOG=str(log), **told)
        if code in {0, 5}:  # 5: none is there any more
            return ""
        return _seen(log, "a hang" if code is None else "")


def _seen(log: Path, ended: str) -> str:
    """The test that failed; else how the process ended."""
    seen = re.search(r"^seen\t\t(.*)", log.read_text() if log.exists() else "", re.MULTILINE)
    return seen[1] if seen else ended or "the end of the process"


def _lit(files: Sequence[str]) -> list[str]:
    run = "import lit.main\nlit.main.main()"
    return [sys.executable, "-c", run, "-q", "-j1", "--max-failures=1", *files]


def _failed_lit(output: str) -> str:
    found = re.search(r"^(?:FAIL|TIMEOUT|UNRESOLVED): .*? :: (\S+)", output, re.MULTILINE)
    return f"tests/lit/{found[1]}" if found else "the end of the process"


def _pytest(words: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "--no-header", "-m", FAST]
    return [*command, "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "mutants_probe", *words]
