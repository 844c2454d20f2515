"""Faults are what operators make of a function; what no test sees is printed, with its line."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "mutants"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the code is not beside these tests")

CODE = """def first(items: list[int], most: int = 9) -> int:
    '''At most 9.'''
    for item in items:
        if item < 0 and most > 1:
            continue
        return min(item, most - 1, strict=True)
    raise ValueError(f"none below {most + 1}")
"""
FAULTS = """
    list(items)[1:] | list(items)[:-1] | False | ((item < 0) or (most > 1)) | ((item < 0)) | ((most > 1))
    | <= | >= | 1 | 2 | pass | return item | max | most - 1, item | ((most) + (1)) | ((1) - (most))
"""


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    yield import_module
    for name in ("operators", "sight", "table", "trial", "run"):
        sys.modules.pop(name, None)


def test_operators_make_faults_of_a_function_and_leave_notes_and_errors(load: Any) -> None:
    operators = load("operators")
    faults = operators.faults_of("a.py", CODE, "first", operators.functions(CODE)["first"])
    assert {fault.new for fault in faults} == {each.strip() for each in FAULTS.split("|")}
    guard = next(fault for fault in faults if fault.new == "False")
    assert guard.line == 4
    assert guard.lines(CODE) == ("if item < 0 and most > 1:", "if False:")
    assert guard.put(CODE) == CODE.replace("item < 0 and most > 1", "False")


def test_a_survivor_is_printed_with_its_line(
    load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of a tree of one function whose test does not look at large numbers."""
    for folder in ("inarch/testing", "tests/unit", "tests/mutants"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "inarch" / "__init__.py").touch()
    (tmp_path / "inarch" / "code.py").write_text(TRIED)
    test = "from inarch.code import f\n\ndef test_f():\n    assert f(2) == 4\n"
    (tmp_path / "tests" / "unit" / "test_code.py").write_text(test)
    for name in ("mutants_probe.py", "mutants_warm.py"):
        (tmp_path / "tests" / "mutants" / name).write_text((FOLDER / name).read_text())
    frozen = "import gc\n\ndef pytest_collection_finish():\n    gc.freeze()\n"  # as ours
    (tmp_path / "tests" / "unit" / "conftest.py").write_text(frozen)
    row = '"doubles" = ["inarch/code.py::f", "return x  + x", "return x * x"]\n'
    table = tmp_path / "tests" / "mutants" / "meaning.toml"
    table.write_text(row + row.replace("doubles", "is gone").replace("x  + x", "y"))
    run, trial = load("run"), load("trial")
    for module in (run, trial):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(run, "TABLE", table)
    same = table.with_name("same.toml")
    monkeypatch.setattr(run, "SAME", same)
    same.write_text(
        '"inarch/code.py::f off by one: 100 -> 101" = "no number that a caller gives is between"\n'
    )
    ledger = table.with_name("soak.jsonl")
    monkeypatch.setattr(run, "LEDGER", ledger)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a second less
    code = run.main(["--only", "inarch/code.py::f"])
    said = capsys.readouterr().out
    assert code == 1, said
    assert (
        "does not fit: inarch/code.py::f: is gone: expected its old text once, found it 0" in said
    )
    assert "inarch/code.py:4: survived in f: doubles (1 tests)" in said
    assert "  - return x + x\n  + return x * x\n" in said
    assert "inarch/code.py:3: f: none of 1 tests that were looked at runs it" in said
    assert "[tests/unit/test_code.py::test_f]" in said
    assert "6 of 8 faults by seed 0: 1 not run, 2 seen, 3 survived" in said
    assert (tmp_path / "inarch" / "code.py").read_text() == TRIED
    capsys.readouterr()
    run.main(["--list", "--only", "inarch/code.py::f"])
    guard, *_ = re.findall(r"  (\w{10}) \S+ drop guard: x > 100 -> False", capsys.readouterr().out)
    found = [{"what": f"survived: {name} inarch/code.py::f"} for name in (guard, "0" * 10)]
    ledger.write_text(json.dumps({"part": "mutants", "findings": found}) + "\n")
    run.main(["--list", "--again"])
    assert re.findall(r"^  (\w{10})", capsys.readouterr().out, re.MULTILINE) == [guard]
    assert run._gone([]) == ["0" * 10]


TRIED = """def f(x: int) -> int:
    if x > 100:
        return x * 3
    return x + x
"""


def test_every_row_names_a_fault_and_one_that_does_not_fit_is_only_listed(load: Any) -> None:
    """A list here would fail whoever moves code: `make mutants` prints it."""
    table = load("table")
    rows, wrong = table.read_rows(FOLDER / "meaning.toml", ROOT)
    assert len(rows) > len(wrong)
    assert all(row.old != row.new for row in rows)


def test_without_a_history_it_says_what_to_name(
    load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = load("run")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    assert run.main([]) == 2
    assert (
        "name functions (--only passes/graph/x.py::f) or search (--all)" in capsys.readouterr().err
    )
