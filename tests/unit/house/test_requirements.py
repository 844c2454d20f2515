"""docs/requirements.md: what it says shows a requirement is there, and names the requirement."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.every_case(reason="each row is one to meet")

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \|$", re.MULTILINE)


def _rows() -> list[tuple[str, str]]:
    """`(ID, test)` for every test of every row."""
    text = (ROOT / "docs" / "requirements.md").read_text()
    return [
        (name, test) for name, tests in ROW.findall(text) for test in re.findall(r"`(.+?)`", tests)
    ]


FOUNDING = {"N": 15, "B": 12, "T": 24, "K": 16}
"""How many requirements each letter has."""


def test_each_founding_requirement_has_one_row_with_a_test_or_says_not_yet() -> None:
    rows = ROW.findall((ROOT / "docs" / "requirements.md").read_text())
    wanted = [f"{letter}{n + 1}" for letter, count in FOUNDING.items() for n in range(count)]
    assert [name for name, _ in rows] == wanted
    assert [name for name, shown in rows if not shown.startswith(("`tests/", "not yet: "))] == []


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
