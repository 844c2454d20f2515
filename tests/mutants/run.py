"""Tests the tests: tries small faults, one at a time in a scratch copy, on the tests that should see them.

    python tests/mutants/run.py                       every fault of every table beside this file
    python tests/mutants/run.py --only 'graph.*'      those whose names match
    python tests/mutants/run.py --changed-since HEAD~1 --sample 20 --seed "$(git rev-parse HEAD^{tree})"

A fault is a row of a table `<area>.toml` (README.md has its fields). Exit codes: 0, every fault was seen;
1, one was not; 2, the tables, the options or the tests without a fault are wrong.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).resolve().parent
FAST = "not slow and not fuzz"
"""What `make test` runs."""
STAGES = ("test", "ci")


class TableError(Exception):
    """A table, an option or a test is not as it should be; one line."""


@dataclass(frozen=True)
class Fault:
    """One change of one file; the fields are those of a row."""

    area: str
    name: str
    path: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]
    stage: str = "test"
    """`ci`: only tests that `make test` leaves out see it."""
    equivalent: str = ""
    """Why no test can see it."""
    fresh: bool = False
    """Whether it could spoil the cache of compiled code that the trials share."""

    @property
    def id(self) -> str:
        return f"{self.area}.{self.name}"


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: `killed`, `survived`, `equivalent` (as the table says), or `invalid`."""

    fault: Fault
    verdict: str
    by: str
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.verdict in {"killed", "equivalent"}


# ------------------------------------------------------------------------------------ tables


def read_tables(folder: Path, root: Path) -> list[Fault]:
    """The rows of all tables, each of which fits the tree at `root`. Raises TableError."""
    faults = [fault for path in sorted(folder.glob("*.toml")) for fault in _read_table(path)]
    twice = [name for name, count in Counter(fault.id for fault in faults).items() if count > 1]
    if twice:
        raise TableError(f"expected different names, found {twice[0]} twice")
    for fault in faults:
        _check(fault, root)
    return faults


def _read_table(path: Path) -> list[Fault]:
    try:
        files: list[dict[str, Any]] = tomllib.loads(path.read_text())["file"]
        return [_fault(path.stem, entry, row) for entry in files for row in entry["fault"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise TableError(f"{path.name}: error: {error}") from error


def _fault(area: str, entry: dict[str, Any], row: dict[str, Any]) -> Fault:
    tests: list[str] = row.get("tests", entry.get("tests", []))
    fields: dict[str, Any] = {
        **row,
        "area": area,
        "path": entry["path"],
        "fresh": entry.get("fresh", False),
        "tests": tuple(tests),
    }
    return Fault(**fields)


def _check(fault: Fault, root: Path) -> None:
    """Whether the row is one change of what the file says today, with tests that there are."""
    source = root / fault.path
    if not source.is_file():
        raise TableError(f"{fault.id}: error: there is no file {fault.path}; mend the row")
    text = source.read_text()
    count = text.count(fault.old)
    if count != 1:
        raise TableError(
            f"{fault.id}: error: expected its old text once in {fault.path}, found it {count} times; "
            "mend the row"
        )
    if fault.old == fault.new:
        raise TableError(f"{fault.id}: error: the new text is the old one")
    if source.suffix == ".py":
        try:
            ast.parse(text.replace(fault.old, fault.new), source.name)
        except SyntaxError as error:
            raise TableError(f"{fault.id}: error: its new text is no Python: {error}") from error
    if fault.stage not in STAGES:
        raise TableError(f"{fault.id}: error: expected stage test or ci, found '{fault.stage}'")
    if not fault.tests:
        raise TableError(f"{fault.id}: error: names no tests")
    for test in fault.tests:
        if not (root / shlex.split(test)[0].partition("::")[0]).exists():
            raise TableError(f"{fault.id}: error: there is no test {test}")


# ------------------------------------------------------------------------------------ choosing


def choose(faults: Sequence[Fault], options: argparse.Namespace) -> tuple[list[Fault], int]:
    """The faults to try, and how many of them, the first ones, are there for themselves: no sample.

    Those of the files that differ are; those whose tests differ begin the sample, if there is one.
    """
    chosen = [
        fault
        for fault in faults
        if any(fnmatch(fault.id, glob) for glob in options.only.split(","))
        and options.area in {None, fault.area}
    ]
    if options.changed_since is None:
        files, sure = set[str](), [] if options.sample is not None else chosen
    else:
        files = _changed_files(options.changed_since)
        sure = [fault for fault in chosen if fault.path in files]
    rest = [fault for fault in chosen if fault not in sure]
    of_tests = [fault for fault in rest if files & _files(fault.tests)]
    if options.sample is None:
        return sure + of_tests, len(sure) + len(of_tests)
    others = [fault for fault in rest if fault not in of_tests]
    for each in (of_tests, others):
        each.sort(key=lambda fault: hashlib.sha256(f"{options.seed} {fault.id}".encode()).digest())
    return sure + (of_tests + others)[: options.sample], len(sure)


def _files(tests: Iterable[str]) -> set[str]:
    return {shlex.split(test)[0].partition("::")[0] for test in tests}


def _changed_files(revision: str) -> set[str]:
    """What differs from a revision, committed or not; `base`: from where the branch left main.

    Of Python what it does: a file that has moved, or imports from where another one is now, is the same.
    """
    if revision == "base":
        revision = _base()
    found: set[str] = set()
    for line in _git("diff", "-M", "--name-status", revision).splitlines():
        status, before, *after = line.split("\t")
        path = after[0] if after else before
        is_code = status[0] not in "AD" and path.endswith(".py")
        now = (ROOT / path).read_text("utf-8") if is_code else ""
        if not is_code or does(_git("show", f"{revision}:{before}")) != does(now):
            found.add(path)
    return found


def does(source: str) -> str:
    """What Python text does, comparable: without imports, and without prose."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [each for each in cast("list[ast.stmt]", block) if _acts(each)])
    return ast.dump(tree)


def _acts(statement: ast.stmt) -> bool:
    is_prose = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return not is_prose and not isinstance(statement, ast.Import | ast.ImportFrom)


def _base() -> str:
    """The last commit that main has, too; on main itself, the commit before this one."""
    head = _git("rev-parse", "HEAD").strip()
    for main in ("origin/main", "main"):
        try:
            base = _git("merge-base", "HEAD", main).strip()
        except TableError:
            continue
        if base != head:
            return base
    return "HEAD~1"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise TableError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


# ------------------------------------------------------------------------------------ trying


@dataclass
class Copy:
    """A copy of the tree, in which tests run: they import the copy's `inarch`, by PYTHONPATH."""

    root: Path
    limit: float
    by_default: frozenset[str] = frozenset()
    """The tests that `make test` runs, of those that rows name."""
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        kept = {k: v for k, v in os.environ.items() if k != "INARCH_CACHE_DIR"}
        self.environment = {**kept, "PYTHONPATH": str(self.root)}

    def run(self, command: Sequence[str], *, limit: float | None = None) -> tuple[int | None, str]:
        """Exit code, None for a hang, and output."""
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=limit or self.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with the compilers that it started
                process.communicate()
                return None, ""
        return process.returncode, output

    def try_fault(self, fault: Fault) -> Outcome:
        """Whether the tests see the fault; the copy is as before, whatever happens."""
        start = time.monotonic()
        path = self.root / fault.path
        text, status = path.read_text(), path.stat()
        build, kept = self.root / "build", self.root / "build-kept"
        # Compiled Python is told by its source's time: that of the fault is never kept.
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if fault.fresh and build.exists():
            build.rename(kept)
        path.write_text(text.replace(fault.old, fault.new))
        # Python looks at the second and the size: bytecode of the sound file may be as new and as long.
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 2_000_000_000))
        try:
            verdict, by = self._verdict(fault)
        finally:
            path.write_text(text)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)
            if fault.fresh:
                shutil.rmtree(build, ignore_errors=True)
                if kept.exists():
                    kept.rename(build)
        return Outcome(fault, verdict, by, round(time.monotonic() - start, 1))

    def _verdict(self, fault: Fault) -> tuple[str, str]:
        waiting = commands(fault.tests, fast=fault.stage == "test")
        while waiting:
            command = waiting.pop(0)
            code, output = self.run(command)
            if code == 0:
                continue
            if code is not None and not _is_failure(command, code):
                said = output.strip().splitlines()
                return "invalid", f"exit code {code}: {said[-1] if said else ''}"
            by = "a hang" if code is None else _failed(output)
            if fault.equivalent:
                return "invalid", f"the table says that nothing can see it, but {by} does"
            if fault.stage == "test" and "-k" in command and not self._is_by_default(by):
                # Of a long table of cases `make test` runs a sample: another one than -k leaves.
                waiting.append(
                    [*command[: command.index("-k")], *command[command.index("-k") + 2 :]]
                )
                continue
            return "killed", by
        return ("equivalent", fault.equivalent) if fault.equivalent else ("survived", "")

    def _is_by_default(self, test: str) -> bool:
        return "::" not in test or any(test.startswith(known) for known in self.by_default)


def commands(tests: Iterable[str], *, fast: bool, first: bool = True) -> list[list[str]]:
    """What runs the tests, the quickest first; those of one runner together, unless they have options."""
    lit: dict[str, None] = {}
    plain: dict[str, None] = {}
    special: dict[tuple[str, ...], None] = {}
    for test in tests:
        words = tuple(shlex.split(test))
        if words[0].startswith("tests/lit"):
            lit[words[0]] = None
        elif len(words) == 1:
            plain[words[0]] = None
        else:
            special[words] = None
    pytest = _pytest(fast=fast, first=first)
    found: list[list[str]] = []
    if lit:
        runner = [sys.executable, "-c", "from lit.main import main; main()", "-q", "-j1"]
        found.append([*runner, *(["--max-failures=1"] if first else []), *lit])
    found += [[*pytest, *words] for words in special]
    return [*found, [*pytest, *plain]] if plain else found


def _pytest(*, fast: bool, first: bool) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
    return [*command, *(["-x"] if first else []), *(["-m", FAST] if fast else [])]


def _is_failure(command: Sequence[str], code: int) -> bool:
    """Whether tests ran and failed; else they could not be found, or the fault keeps them from being read."""
    return code == 1 or (code < 0 and "pytest" in command) or code >= 128


def _failed(output: str) -> str:
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ", "FAIL: ", "TIMEOUT: ")):
            found = line.partition(" ")[2]
            return found.partition(" (")[0] if " :: " in found else found.partition(" - ")[0]
    return "the end of the process"


def make_copy(folder: Path, limit: float) -> Copy:
    """A copy of the files that git has or would add, which imports itself."""
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, names):
        source, target = ROOT / name, folder / name
        if not source.exists() and not source.is_symlink():
            continue  # removed, but not yet from git's list
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
    if (compiled := ROOT / "build" / "test-cache").is_dir():  # kept by content: good here, too
        shutil.copytree(compiled, folder / "build" / "test-cache")
    copy = Copy(folder, limit)
    code, output = copy.run([sys.executable, "-c", "import inarch; print(inarch.__file__)"])
    if code != 0 or not Path(output.strip()).is_relative_to(folder):
        raise TableError(f"expected the copy in {folder} to import itself, found {output.strip()}")
    return copy


def tests_by_default(copy: Copy, faults: Sequence[Fault]) -> frozenset[str]:
    """The names of the tests of Python that `make test` runs, of the files that rows name."""
    files = sorted(
        file for file in _files(t for f in faults for t in f.tests) if "/lit" not in file
    )
    if not files:
        return frozenset()
    pytest = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    code, output = copy.run([*pytest, "-m", FAST, *files], limit=600)
    if code not in {0, 5}:
        raise TableError(f"the tests cannot be listed:\n{output[-3000:]}")
    return frozenset(line for line in output.splitlines() if "::" in line)


def check_without_fault(copy: Copy, outcomes: Sequence[Outcome]) -> None:
    """The tests that saw faults pass without them, or no kill means anything. Raises TableError."""
    for stage in STAGES:
        fast = stage == STAGES[0]
        killed = [o for o in outcomes if o.verdict == "killed" and o.fault.stage == stage]
        nodes = sorted({o.by for o in killed if o.by.startswith("tests/")})
        texts = sorted({f"tests/lit/{o.by.partition(' :: ')[2]}" for o in killed if " :: " in o.by})
        unnamed = [test for o in killed if "::" not in o.by for test in o.fault.tests]
        for command in [
            *([[*_pytest(fast=fast, first=False), *nodes]] if nodes else []),
            *commands([*texts, *unnamed], fast=fast, first=False),
        ]:
            code, output = copy.run(command, limit=3600)
            if code != 0:
                raise TableError(
                    f"without a fault, expected the tests to pass, found exit code {code}: "
                    f"{shlex.join(command)}\n{output[-3000:]}"
                )


def try_all(
    faults: Sequence[Fault], sure: int, options: argparse.Namespace, say: Any
) -> list[Outcome]:
    """The outcomes, as they come; those behind the first `sure` are a sample that has less time."""
    start = time.monotonic()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="inarch-mutants-") as scratch:
        folder = Path(scratch).resolve()
        first = make_copy(folder / "0", options.limit)
        first.by_default = tests_by_default(first, faults)
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        copies.put(first)
        for number in range(1, options.jobs):
            shutil.copytree(first.root, folder / str(number), symlinks=True)
            copies.put(Copy(folder / str(number), options.limit, first.by_default))

        def one(position: int, fault: Fault) -> Outcome | None:
            if position >= sure and time.monotonic() - start > options.seconds:
                return None
            copy = copies.get()
            try:
                return copy.try_fault(fault)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.jobs) as pool:
            for done in as_completed([pool.submit(one, *each) for each in enumerate(faults)]):
                if (outcome := done.result()) is not None:
                    outcomes.append(outcome)
                    say(_line(outcome, len(outcomes), len(faults)))
        check_without_fault(first, outcomes)
        say("the tests that saw faults pass without them")
    return outcomes


# ------------------------------------------------------------------------------------ saying


def _line(outcome: Outcome, number: int, count: int) -> str:
    where = " in make ci" if outcome.verdict == "killed" and outcome.fault.stage == "ci" else ""
    tail = f" by {outcome.by[:120]}" if outcome.verdict == "killed" else f": {outcome.by}"
    if outcome.verdict == "survived":
        tail = f": {outcome.fault.path}: {outcome.fault.breaks}"
    return (
        f"[{number}/{count}] {outcome.verdict}{where} {outcome.fault.id}{tail} "
        f"({outcome.seconds:.1f} s)"
    )


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """A line an area, and one for all."""
    lines: list[str] = []
    for area in [*sorted({outcome.fault.area for outcome in outcomes}), "all"]:
        of_area = [o for o in outcomes if area in {o.fault.area, "all"}]
        count = Counter(
            f"{o.verdict} in make {o.fault.stage}" if o.verdict == "killed" else o.verdict
            for o in of_area
        )
        what = ", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items()))
        lines.append(f"{area:12} {len(of_area):4} faults: {what}")
    return lines


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="Exit codes: 0 all were seen, 1 one was not, 2 wrong tables, options or tests.",
    )
    parser.add_argument("--only", metavar="GLOB,...", default="*", help="faults by name: area.name")
    parser.add_argument("--area", help="faults of one table")
    parser.add_argument(
        "--changed-since",
        metavar="REV",
        help="all faults whose file differs from a revision, then those whose tests do; "
        "'base': from where the branch left main",
    )
    parser.add_argument("--sample", metavar="N", type=int, help="N of the others only, by --seed")
    parser.add_argument("--seed", default="0", help="of the sample: any text, such as a commit")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="no more of the sample after so long"
    )
    parser.add_argument("--jobs", type=int, default=1, help="trials at once")
    parser.add_argument(
        "--limit", metavar="SECONDS", type=float, default=180, help="of one run: then it hangs"
    )
    parser.add_argument("--list", action="store_true", help="check the tables, print the names")
    parser.add_argument("--json", action="store_true", help="the outcomes, on standard output")
    options = parser.parse_args(argv)
    if options.jobs < 1:
        parser.error(f"expected --jobs of 1 or more, found {options.jobs}")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Tries what the options choose; the exit code."""
    options = arguments(argv)
    out = sys.stderr if options.json else sys.stdout

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    try:
        faults, sure = choose(read_tables(TABLES, ROOT), options)
        if options.list:
            for fault in faults:
                say(f"{fault.id}  {fault.path}: {fault.breaks}")
            return 0
        say(f"{len(faults)} faults, {len(faults) - sure} of them a sample by seed {options.seed}")
        outcomes = try_all(faults, sure, options, say) if faults else []
    except TableError as error:
        print(error, file=sys.stderr)
        return 2
    if len(outcomes) < len(faults):
        say(f"{len(faults) - len(outcomes)} of the sample were left out: the time for it is over")
    for line in summary(outcomes):
        say(line)
    if options.json:
        rows = [asdict(o) for o in outcomes]
        print(json.dumps({"outcomes": rows}, indent=1))
    if faults and not outcomes:
        print("expected to try a fault, found no time for one: raise --seconds", file=sys.stderr)
        return 2
    if any(outcome.verdict == "invalid" for outcome in outcomes):
        return 2
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
