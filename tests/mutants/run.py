"""Tests the tests: puts small faults into functions, one at a time, and prints those that no test sees.

    python tests/mutants/run.py                                            what this branch changed
    python tests/mutants/run.py --only passes/graph/simplify_graph.py::_is_identity
    python tests/mutants/run.py --all --seed 7 --seconds 1800              a search: other faults by each seed
    python tests/mutants/run.py --again                                   survivors of searches, by more tests

Exit codes: 0, every fault that was tried was seen; 1, one was not; 2, the options name nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from functools import cache
from itertools import zip_longest
from pathlib import Path

import operators
from operators import Fault
from sight import CODE
from table import Row, read_rows
from trial import FIRST, NOT_RUN, ROOT, Copy, MutantsError, Outcome, Watched

from inarch.core.scratch import scratch

TABLE = Path(__file__).with_name("meaning.toml")
SAME = Path(__file__).with_name("equivalent.toml")
LEDGER = Path(__file__).parents[1] / "soak.jsonl"
A_FILE, A_GROUP = 12, 5
"""Faults of one file in a search, and files of one folder that share what their tests cost to look at."""
VARIETY = ("inarch/testing/generate/", "inarch/fuzz/")
"""Not searched: most of its faults make other programs, or fewer kinds, which no test should pin."""

Say = Callable[[str], None]


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
    if options.again:
        ids = survived(LEDGER)
        for group in _groups(
            {path for path in ids.values() if (ROOT / path).is_file()}, options.seed
        ):
            yield [f for path in group for f in _faults(path, rows) if f.id in ids]
        return
    if options.all:
        files = {path for top in CODE for path in _files(top)} | {row.path for row in rows}
        for group in _groups(
            {path for path in files if not path.startswith(VARIETY)}, options.seed
        ):
            each = [_mixed(_faults(path, rows), options)[:A_FILE] for path in group]
            yield [fault for turn in zip_longest(*each) for fault in turn if fault is not None]
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


def survived(ledger: Path) -> dict[str, str]:
    """What survived a search, and has not been seen, or gone, since: ids, and their files."""
    found: dict[str, str] = {}
    for text in ledger.read_text("utf-8").splitlines():
        line = json.loads(text)
        if line["part"] == "mutants":
            what = " ".join(one["what"] for one in line.get("findings", ()))
            for one in re.finditer(r"survived: (\w{10}) (\S+?)::", what):
                found[one[1]] = one[2]
            for gone in line.get("mended", ()):
                found.pop(gone, None)
    return found


def _groups(files: set[str], seed: int) -> Iterator[list[str]]:
    """Files of one folder, in an order that the seed draws: some of one, then of the next."""
    left: list[str] = sorted(files, key=lambda path: _draw(seed, path))
    while left:
        folder = Path(left[0]).parent
        group = [path for path in left if Path(path).parent == folder][:A_GROUP]
        yield group
        left = [path for path in left if path not in group]


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
    found += [r.fault(text) for r in rows if r.path == path and r.function in names]
    return [fault for fault in found if fault.key not in equivalent()]


@cache
def equivalent() -> dict[str, str]:
    """Faults that change nothing which can be seen, and why: they are not put in."""
    return tomllib.loads(SAME.read_text("utf-8"))


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


def try_all(
    options: argparse.Namespace, rows: Sequence[Row], say: Say
) -> tuple[list[Outcome], int]:
    """The outcomes, and how many faults there were to try, in the files that were come to."""
    end = time.monotonic() + options.seconds
    outcomes: list[Outcome] = []
    count = 0
    with scratch("inarch-mutants-") as folder:
        copy: Copy | None = None
        for faults in chosen(options, rows):
            if time.monotonic() > end:
                break
            if not faults:
                continue
            copy = copy or Copy.make(folder.resolve() / "tree", options.tests or ())
            left = end - time.monotonic()
            paths = sorted({fault.path for fault in faults if not fault.tests})
            look, most = 10.0 + 6 * len(paths), FIRST
            if options.again:  # few faults, each worth a longer look
                look, most = 2 * look, 3 * most
            if (
                outcomes and left < 2 * look
            ):  # who looks at too few tests finds survivors that are none
                break
            with copy.watched(paths, min(look, max(left / 6, 8)), most) as tests:
                count += len(faults)
                if paths:
                    seen = f"{len(faults)} faults of {len(paths)} files"
                    say(f"{len(tests.sight.seconds)} tests look at {seen}")
                for outcome in _tried(faults, tests, end):
                    outcomes.append(outcome)
                    say(_line(outcome))
    return outcomes, count


def _tried(faults: Sequence[Fault], tests: Watched, end: float) -> Iterator[Outcome]:
    lost: set[tuple[str, int]] = set()
    for fault in faults:
        if time.monotonic() > end:
            return
        if (fault.path, fault.line) not in lost:
            outcome = tests.outcome(fault)
            if outcome.verdict == NOT_RUN:  # said once a line
                lost.add((fault.path, fault.line))
            yield outcome


# ------------------------------------------------------------------------------------ telling


def _line(outcome: Outcome) -> str:
    fault = outcome.fault
    place = f"{fault.path}:{fault.line} {fault.function}: {fault.breaks or fault.operator}"
    by = f" [{outcome.by}]" if outcome.by else ""
    return f"{outcome.verdict:9} {outcome.seconds:5.1f}s {place}{by}"


def _gone(rows: Sequence[Row]) -> list[str]:
    """What survived a search, and is no fault of the code any more, or is known to change nothing."""
    ids = survived(LEDGER)
    paths = [path for path in {*ids.values()} if (ROOT / path).is_file()]
    return sorted(ids.keys() - {fault.id for path in paths for fault in _faults(path, rows)})


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
    where.add_argument("--again", action="store_true", help="what survived a search (soak.jsonl)")
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
                say(f"  {fault.id} {fault.key}")
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
        said = [asdict(one) | {"id": one.fault.id, "key": one.fault.key} for one in outcomes]
        said += [{"verdict": "gone", "id": each} for each in (_gone(rows) if options.again else ())]
        print(json.dumps(said, indent=1))
    return 1 if verdicts["survived"] or verdicts[NOT_RUN] else 0


if __name__ == "__main__":
    sys.exit(main())
