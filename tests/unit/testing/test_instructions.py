"""Counts of instructions: counters, references, and reports."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"

BEFORE = {"lenet": {"compile": 1000, "run": 1000}}
AFTER = {"lenet": {"compile": 970, "run": 1021}}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [*sys.path])
    for folder in (BENCHMARKS, BENCHMARKS / "models"):
        sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("counted", BENCHMARKS / "instructions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "counted", module)
    spec.loader.exec_module(module)
    return module


def _program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_perf_counts_where_it_may_and_valgrind_elsewhere(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel of a virtual machine has no counter: perf says so, and leaves with 0."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    out = "while [ $1 != -o ]; do shift; done; echo"
    _program(tmp_path, "perf", f"{out} '1234,,instructions:u,9,100.00,,' > $2")
    assert tool.find_counter() is tool.PERF
    assert tool.PERF.count(["true"], tmp_path, {}) == 1234
    _program(tmp_path, "perf", f"{out} '<not supported>,,instructions:u,0,100.00,,' > $2")
    _program(tmp_path, "valgrind", 'for word; do case $word in --log-file=*) file=${word#*=};; esac; '
             'done; echo "==7== I refs:      1,234,567" > "$file"')  # fmt: skip
    assert tool.find_counter() is tool.VALGRIND
    assert tool.VALGRIND.count(["true"], tmp_path, {}) == 1_234_567
    _program(tmp_path, "valgrind", "echo killed >&2; exit 137")
    with pytest.raises(SystemExit, match="left with 137: killed"):
        tool.VALGRIND.count(["true"], tmp_path, {})
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(SystemExit, match="error: expected perf, "):
        tool.find_counter()


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_a_program_has_one_count(tool: Any, tmp_path: Path) -> None:
    counts = {tool.VALGRIND.count(["/bin/true"], tmp_path, {}) for _ in range(2)}
    assert max(counts) <= 1.001 * min(counts)
    assert min(counts) > 10_000


def test_what_grows_by_more_than_two_percent_is_named(
    tool: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the file where the same programs are installed, else by its commit, counted here."""
    counted: list[Path] = []

    def count(root: Path, *_: object) -> Any:
        counted.append(root)
        return AFTER if root == tool.ROOT else BEFORE

    @contextmanager
    def checkout(revision: str) -> Any:
        yield Path(revision)

    kept = json.loads(tool.KEPT.read_text())
    assert set(kept["counts"]) == set(tool.NETWORKS)
    monkeypatch.setattr(tool, "count", count)
    monkeypatch.setattr(tool, "checkout", checkout)
    monkeypatch.setattr(tool, "find_counter", lambda: tool.VALGRIND)
    here = {"python": "4.0"}

    def tools(_: object) -> dict[str, str]:
        return kept["with"] | here

    monkeypatch.setattr(tool, "tools", tools)
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--models", "lenet"])
    assert tool.main() == 1
    (commit, ours) = counted
    assert (len(commit.name), ours) == (40, tool.ROOT)
    said = capsys.readouterr()
    assert said.err.startswith(f"instructions.json is of python {kept['with']['python']}: ")
    assert said.out.splitlines()[-2:] == [
        "lenet compile: 3.0% fewer instructions",
        "lenet run: 2.1% more instructions",
    ]
    counted.clear()
    here.clear()
    assert tool.reference(None, ["lenet"], tool.VALGRIND) == {"lenet": kept["counts"]["lenet"]}
    assert counted == []
    monkeypatch.setattr(tool, "MOST", 1.03)
    monkeypatch.setattr(sys, "argv", ["instructions.py", "HEAD~1", "--models", "lenet", "--json"])
    assert tool.main() == 0
    assert counted == [Path("HEAD~1"), tool.ROOT]
    assert json.loads(capsys.readouterr().out)["ratios"]["lenet run"] == 1.021
