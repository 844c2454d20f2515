"""The tables of faults fit the code, and their runner tells faults that are seen from those that are not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
RUN = ROOT / "tests" / "mutants" / "run.py"

pytestmark = pytest.mark.skipif(
    not (ROOT / "passes").exists(), reason="the code is not beside these tests"
)


@cache
def runner() -> Any:
    spec = importlib.util.spec_from_file_location("mutants_run", RUN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@cache
def tables() -> list[Any]:
    """All faults, with what they need of the code."""
    return runner().read_tables(RUN.parent, ROOT)


def test_every_row_fits_the_code_and_names_tests() -> None:
    """Each old text is there once, the new one is Python, the tests exist; so many, of so many files."""
    faults = tables()
    assert len(faults) >= 200
    assert len({fault.path for fault in faults}) >= 75
    assert sum(bool(fault.equivalent) for fault in faults) <= len(faults) // 15


CODE = "def double(x):\n    return x + x\n"
TEST = """from toy.code import double
def test_it():
    assert double(0) == RESULT
"""
TABLE = """[[file]]
path = "toy/code.py"
tests = ["tests/test_toy.py"]
"""
FAULT = """[[file.fault]]
name = "NAME"
old = "return x + x"
new = "NEW"
breaks = "doubling"
"""


def fault(name: str, new: str, more: str = "") -> str:
    return f"{FAULT.replace('NAME', name).replace('NEW', new)}{more}\n"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A repository of a function, its test, and the runner, for which a package `inarch` must be there."""
    for folder in ("toy", "inarch", "tests/mutants"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "toy" / "__init__.py").touch()
    (tmp_path / "inarch" / "__init__.py").touch()
    (tmp_path / "toy" / "code.py").write_text(CODE)
    (tmp_path / "tests" / "test_toy.py").write_text(TEST.replace("RESULT", "0"))
    (tmp_path / "tests" / "mutants" / "run.py").write_text(RUN.read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow:\n    fuzz:\n")
    return tmp_path


def run(toy: Path, rows: str, *options: str) -> tuple[int, str]:
    (toy / "tests" / "mutants" / "area.toml").write_text(TABLE + rows)
    subprocess.run(["git", "init", "-q"], cwd=toy, check=True)
    done = subprocess.run(
        [sys.executable, str(toy / "tests" / "mutants" / "run.py"), *options],
        cwd=toy,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_each_fault_is_tried_alone_and_told_by_what_became_of_it(toy: Path) -> None:
    code, said = run(
        toy,
        fault("seen", "return x + 1")
        + fault("unseen", "return x * 3")
        + fault("proven", "return x * 4", 'equivalent = "2 * 0 is 4 * 0"'),
    )
    assert code == 1, said
    assert "killed area.seen by tests/test_toy.py::test_it" in said
    assert "survived area.unseen: toy/code.py: doubling" in said
    assert "equivalent area.proven: 2 * 0 is 4 * 0" in said
    assert "3 faults: 1 equivalent, 1 killed in make test, 1 survived" in said
    assert (toy / "toy" / "code.py").read_text() == CODE


@pytest.mark.slow
def test_a_hang_and_the_end_of_the_process_count_as_seen(toy: Path) -> None:
    rows = fault("hangs", "return __import__('time').sleep(60)")
    code, said = run(toy, rows + fault("dies", "return __import__('os').abort()"), "--limit", "10")
    assert code == 0, said
    assert "killed area.hangs by a hang" in said
    assert "killed area.dies by the end of the process" in said


@pytest.mark.slow
def test_a_proof_that_a_test_refutes_is_an_error(toy: Path) -> None:
    code, said = run(toy, fault("proven", "return x + 1", 'equivalent = "it looks so"'))
    assert code == 2, said
    expected = "the table says that nothing can see it, but tests/test_toy.py::test_it does"
    assert expected in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "tests", "message"),
    [
        (
            "1",
            "tests/test_toy.py",
            "without a fault, expected the tests to pass, found exit code 1",
        ),
        ("0", "tests/test_toy.py -k nothing", "invalid area.f: exit code 5"),
    ],
)
def test_tests_that_do_not_pass_without_a_fault_are_an_error(
    toy: Path, result: str, tests: str, message: str
) -> None:
    """Or there would be no fault that they do not see."""
    (toy / "tests" / "test_toy.py").write_text(TEST.replace("RESULT", result))
    code, said = run(toy, fault("f", "return 2", f'tests = ["{tests}"]'))
    assert code == 2
    assert message in said


@pytest.mark.slow
def test_a_run_that_tries_nothing_is_an_error(toy: Path) -> None:
    code, said = run(toy, fault("f", "return x + 1"), "--sample", "1", "--seconds", "0")
    assert code == 2
    assert "expected to try a fault, found no time for one: raise --seconds" in said


@pytest.mark.parametrize(
    ("new", "more", "message"),
    [
        ("return x + x", "", "area.f: error: the new text is the old one"),
        (
            "return x +",
            "",
            "area.f: error: its new text is no Python: invalid syntax (code.py, line 2)",
        ),
        ("return 1", 'stage = "no"', "area.f: error: expected stage test or ci, found 'no'"),
        ("return 1", 'tests = ["tests/a.py"]', "area.f: error: there is no test tests/a.py"),
        ("return 1", "tests = []", "area.f: error: names no tests"),
        ("return 1", 'path = "no.py"', "area.f: error: there is no file no.py; mend the row"),
    ],
)
def test_a_row_that_is_wrong_is_an_error(toy: Path, new: str, more: str, message: str) -> None:
    rows = TABLE + fault("f", new, more)
    if "path" in more:
        rows = TABLE.replace('path = "toy/code.py"', more) + fault("f", new)
    (toy / "area.toml").write_text(rows)
    with pytest.raises(runner().TableError) as caught:
        runner().read_tables(toy, toy)
    assert str(caught.value) == message


def test_a_row_that_no_longer_fits_the_code_is_an_error(toy: Path) -> None:
    (toy / "toy" / "code.py").write_text(CODE.replace("x + x", "2 * x"))
    (toy / "area.toml").write_text(TABLE + fault("f", "return 1"))
    with pytest.raises(runner().TableError) as caught:
        runner().read_tables(toy, toy)
    assert str(caught.value) == (
        "area.f: error: expected its old text once in toy/code.py, found it 0 times; mend the row"
    )


def test_two_faults_of_one_name_are_an_error(toy: Path) -> None:
    (toy / "area.toml").write_text(TABLE + fault("f", "return 1") + fault("f", "return 2"))
    with pytest.raises(runner().TableError) as caught:
        runner().read_tables(toy, toy)
    assert str(caught.value) == "expected different names, found area.f twice"


@pytest.mark.slow
def test_a_sample_is_another_one_for_another_seed() -> None:
    faults = runner().read_tables(RUN.parent, ROOT)
    chosen = [
        runner().choose(faults, runner().arguments(["--sample", "20", "--seed", seed]))
        for seed in ("a", "a", "b")
    ]
    assert [count for _, count in chosen] == [0, 0, 0]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len({fault.id for fault in chosen[0][0]}) == 20


def test_the_faults_of_changed_files_come_first_and_are_no_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then those that a changed test should see, then the others, as many as asked for."""
    module, faults = runner(), tables()
    code, test = "passes/graph/simplify_graph.py", "tests/unit/passes/test_graph_passes.py"

    def changed(_: str) -> set[str]:
        return {code, test}

    monkeypatch.setattr(module, "_changed_files", changed)
    here = [fault for fault in faults if fault.path == code]
    seen = [f for f in faults if f.path != code and any(t.startswith(test) for t in f.tests)]
    count = len(seen) + 5
    asked = module.arguments(["--changed-since", "base", "--sample", str(count)])
    chosen, sure = module.choose(faults, asked)
    assert here
    assert seen
    assert (chosen[:sure], len(chosen)) == (here, sure + count)
    assert {fault.id for fault in chosen[sure:-5]} == {fault.id for fault in seen}


def test_what_moved_is_not_what_changed() -> None:
    """Imports and prose do nothing; all else counts, wherever it stands."""
    does = runner().does
    text = '"""A file."""\nfrom a import b\n\n\ndef f(x: int) -> int:\n    """Adds."""\n    return x + b\n'
    moved = text.replace("from a", "from a.c.d").replace("A file", "The same").replace("Adds", "+")
    assert does(moved) == does(text)
    local = text.replace("    return", "    from e import g\n    return")
    assert does(local) == does(text)
    for new in (text.replace("x + b", "x - b"), text.replace("x: int", "y: int"), text + "f(1)\n"):
        assert does(new) != does(text)
