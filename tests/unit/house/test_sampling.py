"""Long parametrised tests run a fixed sample by default: `--cases all` and `rest` run the others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"

TESTS = """
import pytest

@pytest.mark.parametrize("second", "abcdefg")
@pytest.mark.parametrize("first", range(20))
def test_long(first, second): pass

@pytest.mark.sampled(30, reason="a table")
@pytest.mark.parametrize("number", range(100))
def test_more(number): pass

@pytest.mark.every_case(reason="messages")
@pytest.mark.parametrize("number", range(15))
def test_every(number): pass

@pytest.mark.slow
@pytest.mark.parametrize("number", range(15))
def test_slow(number): pass

@pytest.mark.parametrize("number", [10**5000, -(10**5000)], ids=["a", "b"])
def test_huge(number): pass

def test_one(): pass
"""


def listed(folder: Path, *options: str) -> tuple[list[str], str]:
    """The ids that pytest would run, and what it says."""
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {CONFTEST.parent}\nmarkers =\n    slow: whole\n    fuzz: whole\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    command += ["-p", "no:xdist", *options]
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, check=False
    )
    return re.findall(r"^test_it\.py::(\S+)$", done.stdout, re.MULTILINE), done.stdout + done.stderr


@pytest.mark.slow
def test_sample_and_rest_are_all(tmp_path: Path) -> None:
    sample, said = listed(tmp_path)
    rest, _ = listed(tmp_path, "--cases", "rest")
    everything, _ = listed(tmp_path, "--cases", "all")
    counts = Counter(case.removeprefix("test_").partition("[")[0] for case in sample)
    assert counts == {"long": 8, "more": 30, "every": 15, "slow": 15, "huge": 2, "one": 1}
    seconds = {case[-2] for case in sample if case.startswith("test_long")}
    assert seconds == set("abcdefg"), "each value of each parameter comes first"
    assert sorted(sample + rest) == sorted(everything)
    assert len(everything) == 140 + 100 + 15 + 15 + 2 + 1
    few, _ = listed(tmp_path, "--cases", "few")
    assert len(few) == 6, "Python does not write all digits of a huge number"
    assert f"{132 + 70} cases of parametrised tests left out (--cases rest runs them, " in said


@pytest.mark.slow
def test_a_case_that_is_named_runs(tmp_path: Path) -> None:
    """Of what `-k` or an id leaves, a sample is taken: one case is always in it."""
    assert listed(tmp_path, "-k", "13-c")[0] == ["test_long[13-c]"]
    assert listed(tmp_path, "test_it.py::test_more[57]")[0] == ["test_more[57]"]


def test_a_mark_says_why(tmp_path: Path) -> None:
    (tmp_path / "test_bare.py").write_text(
        "import pytest\n@pytest.mark.sampled(3)\ndef test_it(): pass\n"
    )
    _, said = listed(tmp_path)
    assert "test_bare.py::test_it: expected a reason in the mark sampled" in said
