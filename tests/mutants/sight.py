"""Which tests may see a fault: tests that name its file, and of these the tests that run its statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import operators

CODE = ("inarch", "backends", "dialects", "frontends", "passes", "runtime", "tools")
"""The folders of the package: `inarch/passes` is a link to `passes`."""
TESTS = 12
"""Files of tests that are looked at for one file, and as many of lit."""


def likely(root: Path, paths: Sequence[str], first: Sequence[str] = ()) -> list[str]:
    """The test files that say most about the files, the best first."""
    rank: dict[str, float] = dict.fromkeys(first, float("inf"))
    tests = _tests(root)
    for path in paths:
        scores = {
            name: score for name, text in tests if (score := _score(root, path, name, text)) > 1
        }
        for kind in (True, False):
            of_kind = [name for name in scores if name.startswith("tests/lit") == kind]
            for name in sorted(of_kind, key=lambda name: (-scores[name], name))[:TESTS]:
                rank[name] = max(rank.get(name, 0), scores[name])
    return sorted(rank, key=lambda name: (-rank[name], name))


@cache
def _tests(root: Path) -> list[tuple[str, str]]:
    files = [*(root / "tests" / "unit").rglob("test_*.py"), *(root / "tests" / "lit").rglob("*.*")]
    return [
        (str(file.relative_to(root)), file.read_text("utf-8", errors="replace"))
        for file in sorted(files)
        if file.suffix in {".py", ".mlir", ".test"} and "Inputs" not in file.parts
    ]


def _score(root: Path, path: str, test: str, text: str) -> float:
    """How much a test says about a file, or half as much about a file that imports it, and so on."""
    names = re.findall(r"^(?:def|class) ([A-Za-z]\w+)", _text(root, path), re.MULTILINE)[:6]
    own = sum(re.search(rf"\b{name}\b", text) is not None for name in names)
    own += 0.75 * len({*Path(path).parts[:-1]} & {*Path(test).parts})
    own += 1.5 * (
        Path(path).parent.name in Path(test).stem
    )  # of what is found by its name, no test imports
    return own + max(share * _said(root, near, test, text) for near, share in _near(root, path))


def _said(root: Path, path: str, test: str, text: str) -> float:
    module, words, passes = _facts(root, path)
    is_like_it = any(word in Path(test).stem for word in words)
    return 6.0 * (module in text) + 4 * any(name in text for name in passes) + 3 * is_like_it


@cache
def _facts(root: Path, path: str) -> tuple[str, list[str], list[str]]:
    """The module, the words of its name, and the passes in it."""
    module = _module(path)
    words = [word for word in module.split(".")[-1].split("_") if len(word) > 3]  # not `of`, `and`
    return module, words, re.findall(r'^    name = "([a-z0-9-]+)"', _text(root, path), re.MULTILINE)


@cache
def _text(root: Path, path: str) -> str:
    return (root / path).read_text("utf-8")


def _module(path: str) -> str:
    parts = [part for part in Path(path).with_suffix("").parts if part != "__init__"]
    return ".".join(parts if parts[0] == "inarch" else ["inarch", *parts])


@cache
def _near(root: Path, path: str) -> list[tuple[str, float]]:
    """The file, and those that import it, directly or through others; the share that each counts for."""
    found, level, share = {path: 1.0}, [path], 0.5
    while level and len(found) <= TESTS and share > 0.1:
        level = [user for one in level for user in _users(root).get(_module(one), ())]
        found = {**dict.fromkeys(level, share), **found}
        share /= 2
    return list(found.items())


@cache
def _users(root: Path) -> dict[str, list[str]]:
    """The files that import a module."""
    found: dict[str, list[str]] = {}
    for top in CODE:
        for file in sorted((root / top).rglob("*.py")):
            path = str(file.resolve().relative_to(root))
            imports = re.findall(
                r"^\s*from (inarch[\w.]*) import (\([^)]*\)|.*)", _text(root, path), re.MULTILINE
            )
            modules = {
                f"{base}.{name}" for base, names in imports for name in re.findall(r"\w+", names)
            }
            for module in modules | {base for base, _ in imports}:
                found.setdefault(module, []).append(path)
    return found


Probe = tuple[str, int, int]
"""A file, and the first and the last line of a statement."""


def probed(path: str, text: str, numbers: list[Probe]) -> str:
    """The text with a line before each statement of a function that tells that it runs; `numbers` grows."""
    lines = text.splitlines(keepends=True)
    inserts: dict[int, str] = {}
    for function in operators.functions(text).values():
        for statement in _statements(function.body):
            decorators = getattr(statement, "decorator_list", [])
            at = min([statement.lineno, *(each.lineno for each in decorators)]) - 1
            before = lines[at].encode()[: statement.col_offset]
            if before.strip() or lines[at].lstrip().startswith("elif ") or at in inserts:
                continue  # no statement of its own line
            hit = f'__import__("mutants_probe").hit({len(numbers)})\n'
            inserts[at] = before.decode() + hit
            numbers.append((path, at + 1, statement.end_lineno or at + 1))
    for at in sorted(inserts, reverse=True):
        lines.insert(at, inserts[at])
    return "".join(lines)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function and its blocks; of nested functions, the definition alone."""
    for statement in body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not isinstance(statement, ast.Global | ast.Nonlocal):
            yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, []))
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            yield from _statements(part.body)


@dataclass
class Sight:
    """The tests that passed without a fault, with their CPU seconds, and what they run."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    hits: dict[Probe, set[str]] = field(default_factory=dict[Probe, set[str]])

    @classmethod
    def read(cls, log: Path, numbers: Sequence[Probe]) -> Sight:
        """From what the probes wrote."""
        sight = cls(hits={each: set() for each in numbers})
        for line in log.read_text().splitlines() if log.exists() else ():
            what, number, test = line.split("\t")
            if what == "hit":
                sight.hits[numbers[int(number)]].add(test)
            elif what == "passed":
                sight.seconds[test] = float(number)
        return sight

    def tests_of(self, path: str, line: int) -> tuple[set[str], bool]:
        """The tests that run the statement of a line, and whether an import before the tests runs it."""
        around = [each for each in self.hits if each[0] == path and each[1] <= line <= each[2]]
        if not around:
            return set(), False
        found = self.hits[min(around, key=lambda each: each[2] - each[1])]
        return found & self.seconds.keys(), "" in found

    def tables_of(self, path: str) -> list[str]:
        """The tests of several cases of which one runs something of a file, the quickest first.

        By their names up to the bracket of a case.
        """
        hits = {test for probe, tests in self.hits.items() if probe[0] == path for test in tests}
        quick = sorted(hits & self.seconds.keys(), key=lambda test: (self.seconds[test], test))
        return list(dict.fromkeys(test[: test.index("[") + 1] for test in quick if "[" in test))

    def cheapest(self, tests: Iterable[str], most: float) -> list[str]:
        """As many as take so long together, those of one file side by side."""
        found: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            most -= self.seconds[test]
            if most < 0 and found:
                break
            found.setdefault(test.partition("::")[0], []).append(test)
        return [test for of_file in found.values() for test in of_file]
