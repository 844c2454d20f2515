"""The shape of the repository: links, docstrings, sizes of files, nothing of anyone's machine."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.every_case(reason="a rule of the house holds for each file")

ROOT = Path(__file__).parents[3]
FOLDERS = ("backends", "dialects", "frontends", "passes", "runtime", "tools")
HOUSE = runpy.run_path(str(ROOT / "tests" / "house.py"))

MADE_FOLDERS = {"__pycache__", "build", "dist", "Output", "venv"}
MADE_FILES = {".onnx", ".inarch", ".txt"}

# Home folders and the usual places of clones and of throw-away environments; `~` is fine.
MACHINE_PATH = re.compile(r"(?<![\w.$}~])/(?:root|home/\w+|Users/\w+|work|tmp/venv)/")


def _files() -> list[Path]:
    """The files of the repository, relative to the root, without links and without what is made.

    A walk, not `git ls-files`: the tests also run where there is no git.
    """
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not _is_made(name)]
        paths = [Path(folder) / name for name in names]
        found += [path.relative_to(ROOT) for path in paths if not path.is_symlink()]
    is_link = Path(".git")  # a file in further work trees of one clone
    return sorted(path for path in found if path.suffix not in MADE_FILES and path != is_link)


def _is_made(folder: str) -> bool:
    hidden = folder.startswith(".") and folder != ".ci"
    return hidden or folder.endswith(".egg-info") or folder in MADE_FOLDERS


FILES = _files()
PYTHON = [path for path in FILES if path.suffix == ".py"]
OURS = [path for path in PYTHON if path.parts[0] in {"inarch", *FOLDERS}]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_package_links_to_the_folder_beside_it(folder: str) -> None:
    link = ROOT / "inarch" / folder
    assert link.is_symlink(), f"{link} is no link; was this checked out without links?"
    assert link.readlink() == Path("..") / folder
    assert link.is_dir()


def test_what_contributing_names_is_there() -> None:
    named = re.findall(
        r"`((?:tests|inarch|docs|benchmarks)/[\w./-]+)`", (ROOT / "CONTRIBUTING.md").read_text()
    )
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) >= 10


def test_every_link_of_the_package_is_known() -> None:
    links = [path.name for path in (ROOT / "inarch").iterdir() if path.is_symlink()]
    assert sorted(links) == sorted(FOLDERS)


def test_types_are_checked_of_each_file() -> None:
    """Through its link. A checker finds nothing wrong in what it does not read, or cannot import."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert {f"inarch/{folder}" for folder in FOLDERS} <= {*tools["basedpyright"]["include"]}
    assert {*tools["basedpyright"]["extraPaths"]} <= {*tools["pyrefly"]["search-path"]}
    checker = Path(sys.executable).with_name("pyrefly")
    if not checker.exists():
        pytest.skip("no pyrefly beside this Python")
    command = [checker, "dump-config", "--max-files", "all"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tests = [path for path in PYTHON if path.parts[0] == "tests" and path.name != "lit.cfg.py"]
    links = [Path("inarch") / path if path.parts[0] in FOLDERS else path for path in OURS]
    assert [path for path in (*links, *tests) if f"    {ROOT / path}\n" not in said] == []


def test_the_root_is_a_package_for_nobody_but_its_parent_folder() -> None:
    """Under another name than `inarch` it is empty: no module is named after the clone's folder."""
    assert not (ROOT / "conftest.py").exists()
    _, only = ast.parse((ROOT / "__init__.py").read_text()).body
    assert isinstance(only, ast.If)
    assert ast.unparse(only.test) == "__name__ == 'inarch'"
    assert not only.orelse


@pytest.mark.parametrize("folder", sorted({path.parent for path in OURS}), ids=str)
def test_a_folder_says_what_it_holds(folder: Path) -> None:
    init = ROOT / folder / "__init__.py"
    assert init.is_file(), "a folder without __init__.py is left out of the wheel"
    assert ast.get_docstring(ast.parse(init.read_text()))


def test_the_first_line_of_a_file_says_its_idea() -> None:
    silent = [
        path
        for path in OURS
        if not (ast.get_docstring(ast.parse((ROOT / path).read_text())) or "")
        .split("\n")[0]
        .strip()
    ]
    assert OURS
    assert silent == [], "expected a docstring"


def test_a_file_is_short() -> None:
    """`make house` lists the long ones; only far beyond that one is refused."""
    lengths: Mapping[Path, int] = HOUSE["lengths"]()
    assert len(lengths) > 500
    limit_of = HOUSE["limit_of"]
    assert {path: n for path, n in lengths.items() if n > limit_of(path).most} == {}


def test_no_file_names_a_path_of_someones_machine() -> None:
    found: list[str] = []
    for path in FILES:
        data = (ROOT / path).read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            if MACHINE_PATH.search(line) and path != Path(__file__).relative_to(ROOT):
                found.append(f"{path}:{number}: {line.strip()[:100]}")
    assert found == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /root/x", True),
        ("'/home/ann/inarch'", True),
        ("-isystem /work/x", True),
        ("$HOME/work/x", False),
        ("~/work/x", False),
        ("tests/work/x", False),
        ("/tmp/x.c", False),
    ],
)
def test_what_counts_as_a_path_of_a_machine(text: str, found: bool) -> None:
    assert bool(MACHINE_PATH.search(text)) is found


def test_make_documents_every_target() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    documented = set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
    assert set(phony[1].split()) - documented == set()
