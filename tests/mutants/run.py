"""Tests the tests: puts small faults into functions, one at a time, and prints those that no test sees.

    python tests/mutants/run.py                                            what this branch changed
    python tests/mutants/run.py --only passes/graph/simplify_graph.py::_is_identity
    python tests/mutants/run.py --all --seed 7 --seconds 1800              a search: other faults by each seed

Exit codes: 0, every fault that was tried was seen; 1, one was not; 2, the options name nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
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
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path

import operators
from operators import Fault
from sight import CODE, Sight, likely, probed
from table import Row, read_rows

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("meaning.toml")
FAST = "not slow and not fuzz"
"""What the gate runs."""
FIRST, SECOND = 12.0, 6.0
"""CPU seconds of tests that run the function; of others, where an import runs it, too."""
NOT_RUN = "not run"
"""Of a fault in a function that no test runs, of those that were looked at."""
A_FILE = 10
"""Faults of one file in a search, before the next file's turn."""

Say = Callable[[str], None]


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


# ------------------------------------------------------------------------------------ choosing


def changed(base: str | None) -> dict[str, set[int] | None]:
    """The lines of each file that differ from `base`, committed or not; None, all: the file is new."""
    try:
        base = base or _base()
        diff = _git("diff", "-U0", "--no-ext-diff", "--no-renames", base)
        new = _git("ls-files", "-z", "--others", "--exclude-standard")
    except (OSError, subprocess.CalledProcessError) as error:
        raise MutantsError(
            "error: expected a history of git that says what changed, found none here (no .git, or a "
            "shallow clone); name functions (--only passes/graph/x.py::f) or search (--all)"
        ) from error
    found: dict[str, set[int] | None] = {name: None for name in new.split("\0") if name}
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line[6:]
        elif (hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)) and path:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines = found.setdefault(path, set())
            if lines is not None:  # of lines that went, those around them
                lines.update(range(first, first + count) if count else (first, first + 1))
    return found


def _base() -> str:
    """Where the branch left main; on main itself, the commit before this one."""
    head = _git("rev-parse", "HEAD").strip()
    for main in ("origin/main", "main", "HEAD~1"):
        try:
            base = _git("merge-base", "HEAD", main).strip()
        except subprocess.CalledProcessError:
            continue
        if base != head:
            return base
    return _git("rev-parse", "HEAD~1").strip()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def is_code(path: str) -> bool:
    """Whether faults are put into the file: not into tests, examples and benchmarks."""
    return path.split("/", maxsplit=1)[0] in CODE and "/plugin/" not in path


def chosen(options: argparse.Namespace, rows: Sequence[Row]) -> Iterator[list[Fault]]:
    """The faults to try, in groups: tests are looked for by group."""
    found: list[Fault] = []
    if options.all:
        files = {path for top in CODE for path in _files(top)} | {row.path for row in rows}
        for path in sorted(files, key=lambda path: _draw(options.seed, path)):
            yield _mixed(_faults(path, rows), options)[:A_FILE]
    elif options.only:
        for each in options.only.split(","):
            glob, _, name = each.partition("::")
            of_glob = [f for path in _files(glob) for f in _faults(path, rows, name or "*")]
            if not of_glob:
                raise MutantsError(
                    f"error: expected functions for --only {each}, found none; write FILE or "
                    "FILE::Class.method, globs, with commas between"
                )
            found += of_glob
    else:
        for path, lines in changed(options.base).items():
            if is_code(path) and (ROOT / path).is_file():
                found += _faults(path, rows, lines=lines)
    yield _mixed(found, options)


def _files(glob: str) -> list[str]:
    """The files that a path, a folder or a glob names."""
    glob = f"{glob}/**/*.py" if (ROOT / glob).is_dir() else glob
    return sorted(
        {str(path.resolve().relative_to(ROOT)) for path in ROOT.glob(glob) if path.is_file()}
    )


def _faults(
    path: str, rows: Sequence[Row], name: str = "*", lines: set[int] | None = None
) -> list[Fault]:
    """Of the functions of such a name that have one of the lines."""
    text = (ROOT / path).read_text("utf-8")
    names: set[str] = {""} if name == "*" else set()
    found: list[Fault] = []
    for each, function in operators.functions(text).items() if path.endswith(".py") else ():
        first, last = operators.span(function)
        if fnmatch(each, name) and (lines is None or not lines.isdisjoint(range(first, last + 1))):
            names.add(each)
            found += operators.faults_of(path, text, each, function)
    return found + [r.fault(text) for r in rows if r.path == path and r.function in names]


def _draw(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed} {text}".encode()).digest()


def _mixed(faults: Sequence[Fault], options: argparse.Namespace) -> list[Fault]:
    """By the seed, one of each function in turn; of a function, rows of the table first."""
    of: dict[tuple[str, str], list[Fault]] = {}
    drawn = {fault: _draw(options.seed, fault.key) for fault in faults}
    for fault in sorted(drawn, key=lambda fault: (not fault.breaks, drawn[fault])):
        if fault.breaks or not options.rows:
            of.setdefault((fault.path, fault.function), []).append(fault)
    turns = [(turn, drawn[fault], fault) for each in of.values() for turn, fault in enumerate(each)]
    return [fault for _, _, fault in sorted(turns, key=lambda turn: turn[:2])]


# ------------------------------------------------------------------------------------ trying


@dataclass
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
            shutil.copytree(compiled, folder / "build" / "test-cache")
        copy = cls(folder, tuple(extra))
        _, said = copy.run(
            [sys.executable, "-c", "import inarch; print(inarch.__file__)"], limit=60
        )
        if not said.startswith(str(folder)):
            raise MutantsError(f"error: expected {folder} to import itself, found {said.strip()}")
        top = [name for name in CODE if (folder / name).is_dir()]
        copy.run([sys.executable, "-m", "compileall", "-q", *top], limit=600)
        return copy

    def run(self, command: Sequence[str], *, limit: float, **more: str) -> tuple[int | None, str]:
        """Exit code, None for a hang, and output: a process has `limit` CPU seconds."""
        kept = {k: v for k, v in os.environ.items() if k not in {"INARCH_CACHE_DIR", "INARCH_SOAK"}}
        path = os.pathsep.join((str(self.root), str(self.root / "tests" / "mutants")))
        if "compileall" not in command:  # that of a fault is never kept
            more["PYTHONDONTWRITEBYTECODE"] = "1"

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))

        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env={**kept, "PYTHONPATH": path, **more},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=limited,  # noqa: PLW1509 - no threads here
            )
            try:
                code = process.wait(timeout=4 * limit + 60)
            except subprocess.TimeoutExpired:
                code = -signal.SIGXCPU
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with the compilers that it started
            process.wait()
            output.seek(0)
            return (None if code == -signal.SIGXCPU else code), output.read()

    # ---------------------------------------------------------------- which tests run what

    def record(self, paths: Sequence[str], seconds: float) -> Sight:
        """Which of the likely tests run which function of the files, and how long they take."""
        texts = {path: (self.root / path).read_text("utf-8") for path in paths}
        numbers: list[tuple[str, str]] = []
        try:
            for path, text in texts.items():
                self._write(path, probed(path, text, numbers))
            files = likely(self.root, paths, self.extra)
            of_lit = [file for file in files if file.startswith("tests/lit")]
            of_pytest = [file for file in files if not file.startswith("tests/lit")]
            log = self.root / "mutants.log"
            log.unlink(missing_ok=True)
            told = {"INARCH_MUTANTS_LOG": str(log), "INARCH_MUTANTS_RECORD": "1"}
            if of_lit:
                self.run(_lit(of_lit, first=False), limit=seconds + 60, **told)
            if of_pytest:
                told["INARCH_MUTANTS_CPU"] = str(seconds)
                self.run(_pytest(of_pytest), limit=seconds + 120, **told)
            return Sight.read(log, numbers)
        finally:
            for path, text in texts.items():
                (self.root / path).write_text(text)
                shutil.copystat(ROOT / path, self.root / path)

    # ---------------------------------------------------------------- one fault

    def try_fault(self, fault: Fault, sight: Sight) -> Outcome:
        """Whether tests see the fault; the copy is as before, whatever happens."""
        start = time.monotonic()
        path = self.root / fault.path
        text = path.read_text("utf-8")
        build, kept = self.root / "build", self.root / "build-kept"
        # What decides what is compiled and kept could find what is kept without the fault.
        fresh = build.exists() and re.search(r"\bcache|key_of|sha256", text) is not None
        if fresh:
            build.rename(kept)
        self._write(fault.path, fault.put(text))
        try:
            verdict, by = self._verdict(fault, sight)
        finally:
            path.write_text(text)
            shutil.copystat(ROOT / fault.path, path)
            if fresh:
                shutil.rmtree(build, ignore_errors=True)
                kept.rename(build)
        if fault.tests and by.startswith("tests/") and self._by_named([shlex.quote(by)]):
            verdict, by = "not tried", f"{by} fails without it, too"
        return Outcome(fault, verdict, by, round(time.monotonic() - start, 1), *fault.lines(text))

    def _write(self, path: str, text: str) -> None:
        """Python looks at the second and the size: bytecode of the sound file may be as new and as long."""
        (self.root / path).write_text(text)
        now = (ROOT / path).stat().st_mtime_ns + 2_000_000_000
        os.utime(self.root / path, ns=(now, now))

    def _verdict(self, fault: Fault, sight: Sight) -> tuple[str, str]:
        if fault.tests:
            by = self._by_named(fault.tests)
            return ("seen", by) if by else ("survived", "")
        reached, anywhere = sight.tests_of(fault.path, fault.function)
        if not reached and not anywhere:
            return NOT_RUN, f"none of {len(sight.seconds)} tests"
        listed = sight.cheapest(reached, FIRST)
        others = sight.cheapest(set(sight.seconds) - reached, SECOND) if anywhere else []
        by = self._by_listed(listed, sight) or self._by_listed(others, sight)
        return ("seen", by) if by else ("survived", f"{len(listed) + len(others)} tests")

    def _by_listed(self, tests: Sequence[str], sight: Sight) -> str:
        """The test that fails, of those that pass without the fault; empty if none does."""
        limit = 4 * sum(sight.seconds[test] for test in tests) + 30
        if of_lit := [test for test in tests if test.startswith("tests/lit")]:
            code, output = self.run(_lit(of_lit), limit=limit)
            if code != 0:
                return "a hang" if code is None else _failed_lit(output)
        listed = [test for test in tests if not test.startswith("tests/lit")]
        wanted = self.root / "mutants.tests"
        wanted.write_text("\n".join(listed))
        files = list(dict.fromkeys(test.partition("::")[0] for test in listed))
        return self._by_pytest(files, limit, INARCH_MUTANTS_TESTS=str(wanted)) if files else ""

    def _by_named(self, tests: Sequence[str]) -> str:
        """As above, of the tests that a row names: files of lit, or what pytest takes."""
        words = [shlex.split(test) for test in tests]
        if of_lit := [each[0] for each in words if each[0].startswith("tests/lit")]:
            code, output = self.run(_lit(of_lit), limit=120)
            if code != 0:
                return "a hang" if code is None else _failed_lit(output)
        of_pytest = [each for each in words if not each[0].startswith("tests/lit")]
        return next(
            filter(None, (self._by_pytest(e, 180, INARCH_MUTANTS_CPU="60") for e in of_pytest)), ""
        )

    def _by_pytest(self, words: Sequence[str], limit: float, **told: str) -> str:
        log = self.root / "mutants.log"
        log.unlink(missing_ok=True)
        code, _ = self.run(_pytest(words), limit=limit, INARCH_MUTANTS_LOG=str(log), **told)
        if code in {0, 5}:  # 5: none is there any more
            return ""
        seen = re.search(r"^seen\t\t(.*)", log.read_text() if log.exists() else "", re.MULTILINE)
        ended = "a hang" if code is None else "the end of the process"
        return seen[1] if seen else ended


_WATCHED_LIT = """import mutants_probe, inarch.testing.lit_format, lit.main
mutants_probe.watch_lit(inarch.testing.lit_format.InProcessFormat)
lit.main.main()
"""


def _lit(files: Sequence[str], *, first: bool = True) -> list[str]:
    command = [sys.executable, "-c", _WATCHED_LIT, "-q", "-j1"]
    return [*command, *(["--max-failures=1"] if first else []), *files]


def _failed_lit(output: str) -> str:
    found = re.search(r"^(?:FAIL|TIMEOUT|UNRESOLVED): .*? :: (\S+)", output, re.MULTILINE)
    return f"tests/lit/{found[1]}" if found else "the end of the process"


def _pytest(words: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "--no-header", "-m", FAST]
    return [*command, "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "mutants_probe", *words]


def try_all(
    options: argparse.Namespace, rows: Sequence[Row], say: Say
) -> tuple[list[Outcome], int]:
    """The outcomes, and how many faults there were to try."""
    end = time.monotonic() + options.seconds
    outcomes: list[Outcome] = []
    count = 0
    with tempfile.TemporaryDirectory(prefix="inarch-mutants-") as scratch:
        copy: Copy | None = None
        for faults in chosen(options, rows):
            count += len(faults)
            if time.monotonic() > end or not faults:
                continue
            copy = copy or Copy.make(Path(scratch).resolve() / "tree", options.tests or ())
            left = end - time.monotonic()
            paths = sorted({fault.path for fault in faults if not fault.tests})
            sight = copy.record(paths, min(max(left / 6, 8), 15 + 5 * len(paths)))
            if paths:
                say(
                    f"{len(sight.seconds)} tests look at {len(faults)} faults of {len(paths)} files"
                )
            lost: set[tuple[str, str]] = set()
            for fault in faults:
                if time.monotonic() > end:
                    break
                if (fault.path, fault.function) in lost:
                    continue
                outcome = copy.try_fault(fault, sight)
                if outcome.verdict == NOT_RUN:  # said once a function
                    lost.add((fault.path, fault.function))
                outcomes.append(outcome)
                say(_line(outcome))
    return outcomes, count


# ------------------------------------------------------------------------------------ telling


def _line(outcome: Outcome) -> str:
    fault = outcome.fault
    place = f"{fault.path}:{fault.line} {fault.function}: {fault.breaks or fault.operator}"
    by = f" [{outcome.by}]" if outcome.by else ""
    return f"{outcome.verdict:9} {outcome.seconds:5.1f}s {place}{by}"


def survivors(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Each fault that no test saw: where, and its lines before and after."""
    for one in sorted(outcomes, key=lambda o: (o.fault.path, o.fault.start)):
        if one.verdict == NOT_RUN:
            yield (
                f"{one.fault.path}:{one.fault.line}: {one.fault.function}: {one.by} that were looked at "
                "runs it; name one that does (--tests FILE), or write it"
            )
        elif one.verdict == "survived":
            fault = one.fault
            yield f"{fault.path}:{fault.line}: survived in {fault.function or 'the file'}: " + (
                (fault.breaks or fault.operator) + (f" ({one.by})" if one.by else "")
            )
            yield f"  - {one.before}"
            yield f"  + {one.after}"


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    where, add = parser.add_mutually_exclusive_group(), parser.add_argument
    where.add_argument("--only", metavar="FILE[::FUNCTION],...", help="faults of these; globs")
    where.add_argument("--all", action="store_true", help="search: some faults of each file")
    where.add_argument("--base", metavar="REV", help="what differs from here, not from main")
    add("--rows", action="store_true", help="only rows of meaning.toml")
    add(
        "--tests", metavar="FILE", action="append", help="what else should see them; again for more"
    )
    add("--seconds", type=float, default=300, help="try no more after so long (300)")
    add("--seed", type=int, default=int(os.environ.get("INARCH_SEED", "0")), help="the order")
    add("--list", action="store_true", help="print the faults, try none")
    add("--json", action="store_true", help="the outcomes, on standard output")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Tries what the options choose; the exit code."""
    options = arguments(argv)
    out = sys.stderr if options.json else sys.stdout

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    rows, wrong = read_rows(TABLE, ROOT)
    for line in wrong:
        say(f"does not fit: {line}")
    try:
        if options.list:
            for fault in [fault for group in chosen(options, rows) for fault in group]:
                before, after = fault.lines((ROOT / fault.path).read_text("utf-8"))
                place = f"{fault.path}:{fault.line} {fault.function}"
                say(f"{place}: {fault.breaks or fault.operator}\n  - {before}\n  + {after}")
            return 0
        outcomes, count = try_all(options, rows, say)
    except MutantsError as error:
        print(error, file=sys.stderr)
        return 2
    for line in survivors(outcomes):
        say(line)
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    what = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
    say(f"{len(outcomes)} of {count} faults by seed {options.seed}: {what or 'none tried'}")
    if options.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    return 1 if verdicts["survived"] or verdicts[NOT_RUN] else 0


if __name__ == "__main__":
    sys.exit(main())
