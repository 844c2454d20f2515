"""What the house writes of itself, and what grows: `make house`, or `python tests/house.py`.

It writes the picture in docs/architecture.md, drawn from the imports (an arrow is an import that no other
way between the two layers stands for: a transitive reduction), and docs/tables/requirements.md, from the IDs
that tests name in their docstrings. Then it lists what has grown long.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "architecture.md"
REQUIREMENTS = ROOT / "docs" / "tables" / "requirements.md"
FOLDERS = ("dialects", "frontends", "passes", "backends", "runtime", "tools")
TESTED = (*FOLDERS, "inarch", "benchmarks", "examples", "tests")
BEGIN, END = "```mermaid\n", "```\n"
ROW = re.compile(r"^\| ([NBTK]\d+) \| (.+) \|$", re.MULTILINE)
NO_TEST = "no test"
FOUNDING = {
    "N": ("writing a backend as a newcomer", 15),
    "B": ("running inside other frameworks", 12),
    "T": ("codegens, runtime module, loaders", 24),
    "K": ("microkernels", 16),
}
"""What the letters stand for, and how many requirements each has."""
NOT_YET = {
    "T23": "no accelerator with a simulator",
    "T24": "no GPU source backend",
}
"""Why no test shows a requirement."""


@dataclass(frozen=True)
class Limit:
    """A size that is reported above `long`, and refused above `most`."""

    long: int
    most: int


FILE_LINES = Limit(400, 600)
TEST_LINES = Limit(800, 1200)
"""Tests are tables of cases: long, but read one case at a time."""
FOLDER_FILES = Limit(12, 20)
PAGE_LINES = 120
"""Above which the page of the architecture is reported; never refused."""


def sources() -> list[Path]:
    """The files of the package, relative to the root, each where it lies and not behind a link."""
    return sorted(
        path.relative_to(ROOT)
        for folder in ("inarch", *FOLDERS)
        for path in (ROOT / folder).rglob("*.py")
        if not any((ROOT / parent).is_symlink() for parent in path.relative_to(ROOT).parents)
    )


def layer_of(path: Path) -> str:
    """The layer of a source file, given relative to the root: the folder in which it lies."""
    top, *rest = path.parts
    if top != "inarch":
        return top
    return rest[0] if len(rest) > 1 else "*.py"


@cache
def imported(text: str) -> tuple[tuple[int, str], ...]:
    """`(line, dotted name)` of each import of a file, also inside functions; `from a import b` is `a.b`."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            found += [(node.lineno, f"{start}.{alias.name}") for alias in node.names]
    return tuple(found)


def arrows() -> dict[str, set[str]]:
    """Layer -> the layers that it imports; without the front door, which has all."""
    layers = {layer_of(path) for path in sources()}
    found: dict[str, set[str]] = {layer: set() for layer in layers if layer != "*.py"}
    for path in sources():
        layer = layer_of(path)
        for _, name in imported((ROOT / path).read_text()):
            parts = name.split(".")
            if parts[0] == "inarch" and len(parts) > 1 and parts[1] in found and layer in found:
                found[layer].add(parts[1])
    return {layer: used - {layer} for layer, used in sorted(found.items())}


def reduced(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Without the arrows that a longer way stands for. `graph` has no circles."""

    def reached(start: str) -> set[str]:
        return {*graph[start], *(far for near in graph[start] for far in reached(near))}

    below = {layer: reached(layer) for layer in graph}
    return {
        layer: {one for one in used if not any(one in below[other] for other in used - {one})}
        for layer, used in graph.items()
    }


def picture() -> str:
    """The graph as Mermaid, from the top layer down."""
    lines = [f"    {a} --> {b}" for a, used in reduced(arrows()).items() for b in sorted(used)]
    return "\n".join(["flowchart TD", *lines]) + "\n"


def written() -> str:
    """The document with the picture that is true now."""
    text = DOCUMENT.read_text()
    begin = text.index(BEGIN) + len(BEGIN)
    return text[:begin] + picture() + text[text.index(END, begin) :]


def allowed() -> dict[str, frozenset[str]]:
    """Layer -> the layers that it may import, as the document's table says.

    Raises ValueError for a row that allows what stands below it.
    """
    rows = re.findall(
        r"^\| `([\w/*.]+?)/?` \|[^|]*\|([^|]*)\|$", DOCUMENT.read_text(), re.MULTILINE
    )
    found: dict[str, frozenset[str]] = {}
    for folder, names in rows:
        layer = folder.removeprefix("inarch/")
        below = set(found) if names.strip() == "all above" else set(names.split())
        if not below <= set(found):
            raise ValueError(f"{folder} may import {below - set(found)}, which stand below it")
        found[layer] = frozenset({*below, layer})
    return found


# ------------------------------------------------------------------------------------ requirements


def shown() -> dict[str, list[str]]:
    """ID -> the tests that name it: `file::function` by its docstring, a file of lit by a comment."""
    found: dict[str, list[str]] = {}
    for path, text in _naming_tests():
        for name in sorted(set(re.findall(r"\b[NBTK]\d+\b", text))):
            found.setdefault(name, []).append(path)
    return found


def _naming_tests() -> Iterator[tuple[str, str]]:
    """Each test, and what of it may name a requirement."""
    for path in sorted((ROOT / "tests" / "lit").rglob("*.mlir")):
        lines = path.read_text().splitlines()
        comments = [line for line in lines if line.lstrip().startswith("//")]
        yield path.relative_to(ROOT).as_posix(), "\n".join(comments)
    for path in sorted((ROOT / "tests" / "unit").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                place = f"{path.relative_to(ROOT).as_posix()}::{node.name}"
                yield place, ast.get_docstring(node) or ""


def requirements() -> str:
    """The text of docs/tables/requirements.md."""
    tests = shown()
    parts = [
        "# Requirements and the tests that show them\n\n"
        "Written by `python tests/house.py`: what Inarch was founded to do, by the IDs that tests name\n"
        "in their docstrings. A test is `file::function`, or a lit test's file.\n"
    ]
    for letter, (title, count) in FOUNDING.items():
        parts.append(f"\n## {letter}: {title}\n\n| ID | shown by |\n|---|---|\n")
        for name in (f"{letter}{number}" for number in range(1, count + 1)):
            by = " ".join(f"`{test}`" for test in tests.get(name, ()))
            why = f"not yet: {NOT_YET[name]}" if name in NOT_YET else NO_TEST
            parts.append(f"| {name} | {by or why} |\n")
    return "".join(parts)


# ------------------------------------------------------------------------------------ what grows


def lengths() -> dict[Path, int]:
    """The lines of each Python file, relative to the root, not behind a link."""
    return {
        path.relative_to(ROOT): len(path.read_text().splitlines())
        for folder in TESTED
        for path in (ROOT / folder).rglob("*.py")
        if not any((ROOT / parent).is_symlink() for parent in path.relative_to(ROOT).parents)
    }


def limit_of(path: Path) -> Limit:
    """For how many lines a file may have."""
    return TEST_LINES if path.parts[0] == "tests" else FILE_LINES


def counts() -> Counter[str]:
    """How many files each folder of the package has, without `__init__.py`."""
    files = [path for path in sources() if path.name != "__init__.py"]
    return Counter(path.parent.as_posix() for path in files)


def report() -> Iterator[str]:
    """What has grown long, the longest first."""
    for tops, limit in (("sources", FILE_LINES), ("tests", TEST_LINES)):
        files = {path: n for path, n in lengths().items() if limit_of(path) is limit}
        yield f"files of {tops} of more than {limit.long} lines (refused above {limit.most}):"
        yield from _largest({str(path): n for path, n in files.items()}, limit.long)
    yield f"folders of more than {FOLDER_FILES.long} files (refused above {FOLDER_FILES.most}):"
    yield from _largest(counts(), FOLDER_FILES.long)
    page = len(DOCUMENT.read_text().splitlines())
    yield f"{DOCUMENT.relative_to(ROOT)}: {page} lines" + " (long)" * (page > PAGE_LINES)


def _largest(sizes: Mapping[str, int], above: int) -> Iterator[str]:
    found = sorted(((-size, name) for name, size in sizes.items() if size > above))
    yield from (f"{-size:6} {name}" for size, name in found)
    if not found:
        yield "     none"


if __name__ == "__main__":
    DOCUMENT.write_text(written())
    REQUIREMENTS.write_text(requirements())
    print("\n".join(report()))
