"""Branches of libinarch (runtime/c) that its tests take, by gcov.

    make branches                                   # all tests of tests/unit/runtime/c, some two minutes
    python tests/branches.py --least 95             # exit code 1: fewer are taken, or one has no reason
    python tests/branches.py tests/unit/runtime/c/test_refused.py

Tests compile libinarch by a `gcc` that is first in PATH and adds `--coverage -O0` where a source of it is
compiled without a sanitizer. Programs that a signal ends write nothing. Prints a line for each file, and each
line of C with a branch that is never taken. Such a line says why no test takes it: `/* not taken: REASON */`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from inarch.core.scratch import scratch

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "runtime" / "c"
TESTS = ("tests/unit/runtime/c",)
COUNT = "-O0 --coverage -fprofile-update=atomic -fprofile-abs-path"
"""Without optimization each condition is two branches."""
WRAPPER = """#!/bin/sh
case " $* " in *-fsanitize*) exec {compiler} "$@";; esac
for word in "$@"; do case "$word" in */tests/*|*/runtime/c/*/*) ;; */runtime/c/*.c) [ {is_c} ] &&
  exec {compiler} "$@" {count} -dumpdir {folder}/counts/$$-;; esac; done
exec {compiler} "$@" -lgcov
"""
"""In C++ each call is a branch, to what catches exceptions: it does not count."""

REASON = re.compile(r"/\* not taken: (\S.*?) \*/")
"""On the line of the branch."""

Branch = tuple[str, int, int]
"""File, line, and which of the line's."""


def wrappers(folder: Path) -> None:
    """A gcc that makes libinarch count, and a g++ that links it."""
    (folder / "counts").mkdir()
    for name in ("gcc", "g++"):
        compiler = shutil.which(name)
        if compiler is None:
            sys.exit(f"error: expected {name}, whose gcov counts branches; install gcc")
        path = folder / name
        is_c = "1" if name == "gcc" else ""
        path.write_text(WRAPPER.format(compiler=compiler, is_c=is_c, count=COUNT, folder=folder))
        path.chmod(0o755)


def counted(folder: Path) -> Iterator[tuple[Branch, int]]:
    """How often each branch was taken, once for each object that has it."""
    for path in (folder / "counts").glob("*.gcda"):
        words = [
            "gcov",
            "--branch-counts",
            "--branch-probabilities",
            "--json-format",
            "--stdout",
            str(path),
        ]
        done = subprocess.run(words, cwd=path.parent, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            said: dict[str, Any] = json.loads(line)
            for file in said["files"]:
                if Path(file["file"]).resolve().parent == SOURCES:
                    name = Path(file["file"]).name
                    for each in file["lines"]:
                        for at, one in enumerate(each["branches"]):
                            yield (name, each["line_number"], at), one["count"]


def reasons() -> dict[tuple[str, int], str]:
    """Why no test takes a branch of that line."""
    return {
        (path.name, number): found[1]
        for path in sorted(SOURCES.glob("*.c"))
        for number, text in enumerate(path.read_text().splitlines(), 1)
        if (found := REASON.search(text))
    }


def unexplained(taken: dict[Branch, bool], said: Mapping[tuple[str, int], str]) -> list[str]:
    """Lines of branches that are not taken without a reason, and of reasons for branches that are taken."""
    missed: dict[tuple[str, int], int] = dict.fromkeys(said, 0)
    for (name, line, _), is_taken in sorted(taken.items()):
        missed[name, line] = missed.get((name, line), 0) + (not is_taken)
    found: list[str] = []
    for (name, line), count in sorted(missed.items()):
        if bool(count) is not ((name, line) in said):
            text = (SOURCES / name).read_text().splitlines()[line - 1].strip()
            found.append(f"{name}:{line}: {count or 'a reason, and none'} not taken: {text[:90]}")
    return found


def report(taken: dict[Branch, bool], said: Mapping[tuple[str, int], str]) -> float:
    """Prints the taken branches; returns their percentage."""
    for (name, line), reason in sorted(said.items()):
        count = sum(not is_taken for (*at, _), is_taken in taken.items() if at == [name, line])
        print(f"{name}:{line}: {count} not taken because {reason}")
    for name in sorted({name for name, _, _ in taken}):
        own = [is_taken for (file, _, _), is_taken in taken.items() if file == name]
        print(f"{name:14} {sum(own):4} of {len(own):4}, {100 * sum(own) / len(own):5.1f} %")
    share = 100 * sum(taken.values()) / max(1, len(taken))
    print(f"{'all':14} {sum(taken.values()):4} of {len(taken):4}, {share:5.1f} %")
    return share


def main(arguments: Sequence[str] | None = None) -> int:
    """1: a test failed, too few branches are taken, or an untaken one has no reason."""
    about, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", nargs="*", default=TESTS, metavar="TEST", help="all of libinarch")
    parser.add_argument(
        "--least", type=float, default=0.0, metavar="PERCENT", help="of branches, others named"
    )
    chosen = parser.parse_args(arguments)
    with scratch("inarch-branches-") as folder:
        wrappers(folder)
        environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        environment.pop("CC", None)
        words = [sys.executable, "-m", "pytest", "-q", "-m", "not fuzz", "--cases", "all"]
        words += ["--basetemp", str(folder / "tests"), "-p", "no:cacheprovider", *chosen.tests]
        passed = subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode == 0
        taken: dict[Branch, bool] = {}
        for branch, count in counted(folder):
            taken[branch] = taken.get(branch, False) or count > 0
    said = reasons()
    faults = unexplained(taken, said)
    print(*faults, sep="\n", end="\n" if faults else "")
    share = report(taken, said)
    return 0 if passed and share >= chosen.least and not (chosen.least and faults) else 1


if __name__ == "__main__":
    sys.exit(main())
