"""Who may import whom: the table of docs/architecture.md, held by reading every file's imports."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.every_case(reason="a rule of the house holds for each file")

ROOT = Path(__file__).parents[3]

HOUSE = runpy.run_path(str(ROOT / "tests" / "house.py"))
FOLDERS: Sequence[str] = HOUSE["FOLDERS"]
MAY_IMPORT: Mapping[str, frozenset[str]] = HOUSE["allowed"]()
SOURCES: Sequence[Path] = HOUSE["sources"]()
layer_of: Callable[[Path], str] = HOUSE["layer_of"]
imported: Callable[[str], tuple[tuple[int, str], ...]] = HOUSE["imported"]

WITHOUT_XDSL = ("core", "meaning", "artifact", "machine", "microkernel", "runtime")
"""Loading and running a compiled model must not need the compiler's framework."""

THIRD_PARTY = {"core": {"numpy"}, "runtime": {"numpy", "cffi", "threadpoolctl"}}
"""All that a compiled model needs besides the standard library (core: numpy by `inarch.core.lazy`).

threadpoolctl is told of its threads, where it is installed.
"""

OUTSIDE = sorted(
    path.relative_to(ROOT)
    for folder in ("benchmarks", "examples", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
"""What uses Inarch as others do."""

ROOMS = {path.parent.name for path in (ROOT / "backends").glob("*/__init__.py")}
"""The backends and hosts that are folders."""

FOR_OTHERS = ("tools/templates", "examples", "tests/plugin", "tests/lit")
"""What others read and copy, besides the documents."""


def problems(path: Path, text: str) -> list[str]:
    """What a source file at `path` (relative to the root) imports that its layer may not."""
    layer = layer_of(path)
    found: list[str] = []
    for line, name in imported(text):
        first, *rest = name.split(".")
        where = f"{path}:{line}: {layer} imports {name}"
        if first == "":
            found.append(f"{where}: write inarch.<folder>...")
        elif first in FOLDERS:
            found.append(f"{where}: a second copy of it; write inarch.{name}")
        elif first == "xdsl" and layer in WITHOUT_XDSL:
            found.append(f"{where}: this layer works without xDSL")
        elif first == "xdsl" and layer != "ir" and _is_private(rest):
            found.append(f"{where}: private; only inarch/ir may")
        elif not _is_available(layer, first):
            found.append(f"{where}: may import {', '.join(sorted(THIRD_PARTY[layer]))}")
        elif first == "inarch" and rest and not _allowed(layer, rest[0]):
            found.append(f"{where}: may import {', '.join(sorted(MAY_IMPORT[layer]))}")
    return found


def _is_private(parts: list[str]) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in parts)


def _is_available(layer: str, package: str) -> bool:
    wanted = THIRD_PARTY.get(layer)
    return wanted is None or package in {"inarch", *wanted, *sys.stdlib_module_names}


def _allowed(layer: str, part: str) -> bool:
    """`part` is what stands behind `inarch.`: a folder, or a public name of `inarch`."""
    return part in MAY_IMPORT[layer] or part.startswith("__")


def test_imports_go_down_the_layers() -> None:
    assert len(SOURCES) > 100
    assert [one for path in SOURCES for one in problems(path, (ROOT / path).read_text())] == []


def test_the_picture_is_the_one_of_the_code() -> None:
    stale = (ROOT / "docs" / "architecture.md").read_text() != HOUSE["written"]()
    assert not stale, (
        "docs/architecture.md has another picture than the imports; run `python tests/house.py`"
    )


def test_a_folder_has_rooms() -> None:
    """`make house` lists those of more than a dozen files; what nobody takes in at a glance is refused."""
    counts: Mapping[str, int] = HOUSE["counts"]()
    most: int = HOUSE["FOLDER_FILES"].most
    assert counts["inarch/ir"] > 0
    assert {folder: count for folder, count in counts.items() if count > most} == {}


def test_every_folder_is_a_layer() -> None:
    """Nothing stands outside of the table, and no row is of a folder that is gone."""
    assert {layer_of(path) for path in SOURCES} == set(MAY_IMPORT)


def rooms_named(path: Path, text: str) -> list[str]:
    """What a file imports of a backend or a host that it is no part of: of a folder in `backends/`."""
    home = path.parts[1] if path.parts[0] == "backends" and len(path.parts) > 2 else None
    return [
        f"{path}:{line}: {name}: found by its name, in HOSTS or BACKENDS"
        for line, name in imported(text)
        if name.startswith("inarch.backends.") and name.split(".")[2] in ROOMS - {home}
    ]


def test_nobody_imports_a_host_or_a_backend() -> None:
    assert {"c", "cblas"} <= ROOMS
    found = [one for path in SOURCES for one in rooms_named(path, (ROOT / path).read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("path", "line", "count"),
    [
        ("inarch/driver/compiler.py", "def f():\n    from inarch.backends.c import emit", 1),
        ("backends/cblas/library.py", "import inarch.backends.c.text", 1),
        ("backends/host.py", "from inarch.backends import c", 1),
        ("backends/c/run.py", "from inarch.backends.c.native import native", 0),
        ("tools/a.py", "from inarch.backends.host import HOSTS", 0),
    ],
)
def test_an_import_of_a_host_is_found(path: str, line: str, count: int) -> None:
    assert len(rooms_named(Path(path), line)) == count


def test_what_is_private_stays_in_its_folder() -> None:
    """A module or a name with a leading underscore is imported by its own folder, and by rooms in it."""
    found = [
        f"{path}:{line}: {name}"
        for path in (*SOURCES, *OUTSIDE)
        for line, name in imported((ROOT / path).read_text())
        if name.startswith("inarch.") and not _is_at_home(path, name)
    ]
    assert found == []


def _is_at_home(path: Path, name: str) -> bool:
    parts = name.split(".")
    private = [i for i, part in enumerate(parts) if re.match(r"_(?!_)", part)]
    own = path.parent.parts if path.parts[0] == "inarch" else ("inarch", *path.parent.parts)
    return not private or own[: private[0]] == tuple(parts[: private[0]])


def private_names(text: str) -> list[str]:
    """The names of `inarch` with a leading underscore that a text of any language imports or spells out."""
    spelt = re.findall(r"\binarch(?:\.\w+)*\._(?!_)\w+", text)
    lists = re.findall(r"\bfrom +inarch[\w.]* +import +(\([^)]*\)|[^\n]*)", text)
    return [*spelt, *(name for names in lists for name in re.findall(r"\b_(?!_)\w+", names))]


def test_whoever_reads_us_needs_nothing_private() -> None:
    """No document, template, example, plugin or lit test uses a private name."""
    files = [
        *ROOT.glob("*.md"),
        *(path for path in (ROOT / "docs").rglob("*.md")),
        *(path for path in (ROOT / "tests").rglob("*.md")),
        *(path for top in FOR_OTHERS for path in (ROOT / top).rglob("*")),
    ]
    texts = {path: path.read_text() for path in files if path.is_file() and path.suffix != ".pyc"}
    assert len(texts) > 40
    assert {path: names for path, text in texts.items() if (names := private_names(text))} == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import inarch.microkernel._data", ["inarch.microkernel._data"]),
        ("x = inarch.meaning._tree.Size", ["inarch.meaning._tree"]),
        ("from inarch.meaning import parse, _tree", ["_tree"]),
        ("from inarch.meaning import (\n    parse,\n    _tree as tree,\n)", ["_tree"]),
        ("from inarch.meaning import parse_it\nfrom x import _y", []),
        ("from inarch import __version__; inarch.__doc__", []),
    ],
)
def test_private_names_are_found_in_any_text(text: str, names: list[str]) -> None:
    assert private_names(text) == names


def test_private_xdsl_is_used_in_one_folder_only() -> None:
    """Whatever must silence reportPrivateUsage belongs in `inarch/ir`."""
    silenced = [
        f"{path}:{number}: {line.strip()}"
        for path in SOURCES
        if layer_of(path) != "ir"
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if re.search(r"#.*pyright: ignore\[[^]]*reportPrivateUsage", line)
    ]
    assert silenced == []


def test_starting_up_imports_no_heavy_package(tmp_path: Path) -> None:
    """All dialects, passes, backends and commands, before there is work for them."""
    script = """
import sys
import inarch.driver.compiler, inarch.tools.cli, inarch.tools.opt
from inarch.backends import BACKENDS
from inarch.dialects import DIALECTS
from inarch.passes import PASSES
for table in (BACKENDS, DIALECTS, PASSES):
    for name in table:
        table[name]
print(*sorted({"numpy", "onnx", "onnxruntime", "cffi", "rich"} & set(sys.modules)))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("passes/graph/a.py", "import inarch.backends.c", "may import"),
        ("passes/graph/a.py", "from inarch import backends", "may import"),
        ("dialects/graph/a.py", "from inarch.passes import PASSES", "may import"),
        ("runtime/a.py", "from inarch.dialects import graph", "may import"),
        ("runtime/a.py", "import xdsl.ir", "works without xDSL"),
        (
            "inarch/core/errors.py",
            "def f():\n    from xdsl.ir import Operation",
            "works without xDSL",
        ),
        ("inarch/core/cache.py", "import cffi", "may import numpy"),
        ("inarch/driver/compiler.py", "import inarch.tools.cli", "may import"),
        ("inarch/pipeline/a.py", "from inarch.driver import compiler", "may import"),
        ("runtime/a.py", "import onnx", "may import cffi, numpy, threadpoolctl"),
        ("passes/graph/a.py", "from xdsl.parser import _core", "private"),
        ("passes/graph/a.py", "import dialects.graph", "write inarch.dialects.graph"),
        ("tools/a.py", "from passes import PASSES", "write inarch.passes.PASSES"),
        ("passes/graph/a.py", "from . import b", "write inarch.<folder>"),
    ],
)
def test_a_wrong_import_is_found(path: str, line: str, reason: str) -> None:
    (problem,) = problems(Path(path), line)
    assert reason in problem


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("passes/graph/a.py", "from inarch.dialects.graph.matmul import MatmulOp"),
        ("backends/c/a.py", "from inarch.passes import PASSES"),
        ("runtime/a.py", "from inarch.artifact import read"),
        ("inarch/ir/text.py", "from xdsl.parser import _core"),
        ("tools/a.py", "import inarch"),
        ("runtime/a.py", "from inarch import __version__"),
        ("runtime/a.py", "import cffi"),
        ("inarch/driver/compiler.py", "from inarch.backends.host import HOSTS"),
    ],
)
def test_a_right_import_passes(path: str, line: str) -> None:
    assert problems(Path(path), line) == []
