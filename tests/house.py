"""The picture in docs/architecture.md, drawn from the imports: `python tests/house.py` writes it.

An arrow is an import that no other way between the two layers stands for (a transitive reduction).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "architecture.md"
FOLDERS = ("dialects", "frontends", "passes", "backends", "runtime", "tools")
BEGIN, END = "```mermaid\n", "```\n"


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


if __name__ == "__main__":
    DOCUMENT.write_text(written())
