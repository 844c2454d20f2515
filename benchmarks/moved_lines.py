"""What moving made of the code: lines of the definitions in files that have moved since a revision.

    python benchmarks/moved_lines.py 09f59bd [--most 10]

Functions, classes and constants at the top of a file of that revision that is gone, or lies elsewhere now:
their lines then, and the lines of the same definitions now, with all that was added to them since. A
definition is the same by its name, with or without an underscore, and where at least half of its text is
(difflib), unless git says that its file moved there. New definitions, imports and tests do not count. Takes
a minute.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("tests/", "benchmarks/", "examples/")
SAME = 0.5
"""Of a definition's text."""


@dataclass(frozen=True)
class Definition:
    """A definition at the top of a file."""

    name: str
    file: str
    text: str

    @property
    def lines(self) -> int:
        """With decorators."""
        return self.text.count("\n") + 1

    def likeness(self, other: Definition) -> float:
        """From 0 to 1."""
        return SequenceMatcher(None, self.text, other.text, autojunk=False).ratio()


def definitions(file: str, source: str) -> Iterator[Definition]:
    """Those of one file."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                name = node.name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                first = node.lineno
            case _:
                continue
        yield Definition(name, file, "\n".join(lines[first - 1 : node.end_lineno]))


def git(*arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def files(revision: str) -> set[str]:
    """The Python files of a revision that count."""
    names = git("ls-tree", "-r", "--name-only", revision).split()
    return {name for name in names if name.endswith(".py") and not name.startswith(LEFT_OUT)}


def moves(revision: str) -> dict[str, str]:
    """Where git finds files of the revision now."""
    rows = [
        line.split("\t") for line in git("diff", "-M40", "--name-status", revision).splitlines()
    ]
    return {row[1]: row[2] for row in rows if row[0].startswith("R")}


def pairs(revision: str) -> Iterator[tuple[Definition, Definition | None]]:
    """Each definition of a file that has moved, and what it is now; None: it is gone."""
    now = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")}
    known: dict[str, list[Definition]] = defaultdict(list)
    for file in sorted(files("HEAD") & now):
        for one in definitions(file, (ROOT / file).read_text("utf-8")):
            known[one.name.lstrip("_")].append(one)
    moved = moves(revision)
    for file in sorted(files(revision) - now):
        for one in definitions(file, git("show", f"{revision}:{file}")):
            alike = known[one.name.lstrip("_")]
            there = [each for each in alike if each.file == moved.get(file)]
            best = max(there or alike, key=one.likeness, default=None)
            is_same = best is not None and (bool(there) or one.likeness(best) >= SAME)
            yield one, best if is_same else None


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision")
    parser.add_argument("--most", type=int, default=0, help="show those that grew most")
    options = parser.parse_args(arguments)
    found = list(pairs(options.revision))
    then = sum(before.lines for before, _ in found)
    now = sum(after.lines for _, after in found if after is not None)
    gone = sum(before.lines for before, after in found if after is None)
    count = len({before.file for before, _ in found})
    print(
        f"{count} files; their definitions: {then} lines then, {now} now; {gone} of them are gone"
    )
    grown = [(b, a) for b, a in found if a is not None]
    grown.sort(key=lambda pair: pair[0].lines - pair[1].lines)
    for before, after in grown[: options.most]:
        print(f"{after.lines - before.lines:+5} {before.name}: {before.file} -> {after.file}")


if __name__ == "__main__":
    main()
