"""An algorithm from an outside package, examples/algorithms/conv_fft.py: listed, chosen, tuned, verified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "algorithms" / "conv_fft.py"

KNOWN_TIMES = '''
"""Jobs that are not done: where `direct` is taken all is twice as fast."""

from concurrent.futures import Future
from contextlib import contextmanager
from inarch.driver.keep.records import compiler_name
from inarch.machine.find import cpu_name
from inarch.tuning.executor import Executor
from inarch.tuning.job import Result

class Pool:
    def submit(self, _, job):
        times = [
            {"large": 0.5 if any(way.choice == "direct" for way in ways.values()) else 1.0}
            for ways in job.variants
        ]
        done = Future()
        done.set_result(Result(job.key, "", cpu_name(), compiler_name(), tuple(times), ("",) * len(times)))
        return done

@contextmanager
def opened(_address, _workers):
    yield Pool()

EXECUTOR = Executor(opened, "times that are known")
'''

SCRIPT = """
import json, sys
from inarch.tools import cli

found = []
for line in json.load(sys.stdin):
    done = cli.run(line.split())
    assert done.code == 0, (line, done.err, done.out)
    found.append(done.out)
print(json.dumps(found))
"""

FOR = "--target x86-64-v3 --numerics fast"
COMMANDS = {
    "listed": "list algorithms --json",
    "strict": "explain model.mlir --target x86-64-v3 --json",
    "fast": f"explain model.mlir {FOR} --json",
    "tuned": f"tune model.mlir {FOR} -o records.json --load known_times.py --executor known-times --json",
    "recorded": f"explain model.mlir {FOR} --records records.json --json",
    "run": f"run model.mlir {FOR} --check model.mlir",
    "verified": f"verify model.mlir {FOR}",
}


def _model(folder: Path) -> None:
    """Five windows of 15 x 17 across an image that has edges on all sides, odd channels, a bias."""
    rng = np.random.default_rng(0)
    weights, bias = rng.standard_normal((5, 3, 15, 17)), rng.standard_normal(5)
    np.savez(folder / "model.npz", w=weights.astype("f4"), b=bias.astype("f4"))
    x, y = "tensor<2x3x40x23xf32>", "tensor<2x5x38x26xf32>"
    (folder / "model.mlir").write_text(f"""
func.func @main(%x: {x}) -> {y} {{
  %w = graph.constant dense_resource<w> : tensor<5x3x15x17xf32>
  %b = graph.constant dense_resource<b> : tensor<5xf32>
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = [7, 9, 5, 10] dilations = [1, 1] groups = 1 :
    {x}, tensor<5x3x15x17xf32>, tensor<5xf32> -> {y} loc("large")
  func.return %0 : {y}
}}
""")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command prints, in one process that finds the package by its entry point."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("work")
    (site / "outside_fft.py").write_bytes(EXAMPLE.read_bytes())
    info = site / "outside_fft-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-fft\nVersion: 1.0\n")
    group = "inarch.passes.lower.algorithms"
    (info / "entry_points.txt").write_text(f"[{group}]\nconv-fft = outside_fft\n")
    (folder / "known_times.py").write_text(KNOWN_TIMES)
    _model(folder)
    path = os.pathsep.join([str(site), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps([*COMMANDS.values()]),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "INARCH_PLUGINS": "all"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    records = (folder / "records.json").read_text()
    return dict(zip(COMMANDS, json.loads(done.stdout), strict=True)) | {"records": records}


def _taken(said: str) -> list[str]:
    """Of the one op, the algorithm that is taken, and the others that may be."""
    (one,) = json.loads(said)["algorithms"]
    return [each["name"] for each in one["algorithms"] if not each["refused"]]


def test_it_is_listed_with_whom_it_is_from(found: dict[str, str]) -> None:
    (row,) = [one for one in json.loads(found["listed"])["algorithms"] if one["name"] == "conv-fft"]
    assert row["origin"] == "entry point of outside-fft"


def test_it_is_chosen_by_cost_where_the_numerics_allow_it(found: dict[str, str]) -> None:
    assert _taken(found["fast"]) == ["fft", "direct"]
    assert _taken(found["strict"]) == ["direct"]


def test_it_is_a_choice_of_tuning(found: dict[str, str]) -> None:
    """K16: a record keeps the algorithm that was measured to be faster, and compilation takes it."""
    records = [json.loads(line) for line in found["records"].splitlines()[1:]]
    choices = [one["way"] for one in records if one["kernel"] == "choose-algorithm"]
    assert choices == [{"kernel": "choose-algorithm", "choice": "direct"}]
    assert _taken(found["recorded"]) == ["direct", "fft"]


def test_it_computes_what_the_op_says(found: dict[str, str]) -> None:
    assert "agrees" in found["run"]
    assert found["verified"].startswith("right: 1 value of 1 op")
