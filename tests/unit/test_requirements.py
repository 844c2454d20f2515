"""docs/requirements.md: what it says shows a requirement is there, and names the requirement."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.every_case(reason="each row is one to meet")

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \|$", re.MULTILINE)


def _rows() -> list[tuple[str, str]]:
    """`(ID, test)` for every test of every row."""
    text = (ROOT / "docs" / "requirements.md").read_text()
    return [
        (name, test) for name, tests in ROW.findall(text) for test in re.findall(r"`(.+?)`", tests)
    ]


def test_an_id_has_one_row() -> None:
    names = [name for name, _ in ROW.findall((ROOT / "docs" / "requirements.md").read_text())]
    assert len(names) == len(set(names)) > 0


@cache
def _read(file: Path) -> tuple[str, dict[str, str]]:
    """The text of a test's file, and the docstrings of its functions."""
    text = file.read_text()
    if file.suffix != ".py":
        return text, {}
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return text, {node.name: ast.get_docstring(node) or "" for node in nodes}


@pytest.mark.parametrize(("name", "test"), _rows())
def test_what_shows_it_exists(name: str, test: str) -> None:
    path, _, function = test.partition("::")
    assert (ROOT / path).is_file()
    text, functions = _read(ROOT / path)
    if not function:
        assert re.search(rf"\b{name}\b", text), f"{path} does not mention {name}"
        return
    assert function in functions
    assert re.search(rf"\b{name}\b", functions[function])
