"""tests/same.py: what a side makes of a program, and what is said where two sides differ."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tests" / "same.py"
ADD = """func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.add %x, %x : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}"""


def test_one_line_of_c_that_differs_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "add.mlir").write_text(ADD)
    command = [sys.executable, str(SCRIPT), "-", "--inputs", str(tmp_path)]
    done = subprocess.run(
        [*command, "--only", "C of add for"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    before = dict(json.loads(line) for line in done.stdout.splitlines())
    name = "C of add for x86-64-v3"
    assert list(before) == [f"C of add for {n}" for n in ("generic", "x86-64-v3", "x86-64-v4")]
    assert "in[i0] + in_1[i0]" in before[name]
    report = runpy.run_path(str(SCRIPT))["report"]
    assert report(before, before, is_json=False) == 0
    assert capsys.readouterr().out == "0 of 3 differ\n"
    after = before | {name: before[name].replace("in[i0] + in_1[i0]", "in_1[i0] + in[i0]")}
    assert report(before, after, is_json=True) == 1
    assert json.loads(capsys.readouterr().out) == {"compared": 3, "different": [name]}
    assert report(before, after, is_json=False) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [f"{name}:", "--- before", "+++ after"]
    assert sum(line.startswith(("-  ", "+  ")) for line in said) == 2
    assert said[-1] == "1 of 3 differ"
