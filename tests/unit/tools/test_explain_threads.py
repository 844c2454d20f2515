"""Threads in `inarch explain`: which loops they share, and what that can bring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inarch.passes.loop.threads.sharing import Sharing, SharingReport
from inarch.tools.cli import run
from inarch.tools.explain.threads import of_places, summary

MODEL = """func.func @main(%x: tensor<64x4096xf32>, %s: tensor<8xf32>)
    -> (tensor<64x4096xf32>, tensor<8xf32>) {
  %y = graph.exp %x : tensor<64x4096xf32> -> tensor<64x4096xf32>
  %z = graph.abs %s : tensor<8xf32> -> tensor<8xf32>
  func.return %y, %z : tensor<64x4096xf32>, tensor<8xf32>
}
"""
REPORT = SharingReport(
    (
        Sharing("a", 30.0, "oh", 3, ""),
        Sharing("b", 10.0, None, 1, "no loop to share"),
    )
)


@pytest.fixture(name="model")
def fixture_model(tmp_path: Path) -> Path:
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    return path


def test_a_summary_is_what_the_largest_parts_take() -> None:
    """Of 3 iterations one of two threads has 2: 40 us become 20 + 10; by four or more 10 + 10."""
    assert summary(REPORT) == [
        "threads share 1 of 2 loops, 75.0 % of the work: at most 1.33 times by 2, 2.00 times by 4, "
        "2.00 times by 8"
    ]
    assert summary(SharingReport(REPORT.ops[1:])) == ["threads share none of 1 loops"]
    assert of_places(REPORT, ["b"]) == [
        "b: one thread: no loop to share, 10 us of work at least",
    ]


def test_the_command_says_which_loops(model: Path) -> None:
    out = run(["explain", str(model), "--target", "generic"]).out
    assert "\nthreads share 1 of 2 loops, 100.0 % of the work: at most 2.00 times by 2, " in out
    alone = run(["explain", str(model), "--target", "generic", "--threads", "1"]).out
    assert "threads share" not in alone


def test_the_json_has_every_loop(model: Path) -> None:
    found = json.loads(run(["explain", str(model), "--target", "generic", "--json"]).out)
    large, small = found["threads"]
    assert (large["where"], large["iterations"], large["why"]) == (f"{model}:3:3", 64, "")
    assert (small["loop"], small["iterations"], small["why"]) == (None, 1, "too little")
    assert large["work_us"] > 100 * small["work_us"]


def test_why_of_a_place_has_its_loop(model: Path) -> None:
    out = run(["explain", str(model), "--target", "generic", "--why", f"{model}:3:3"]).out
    assert f"\n{model}:3:3: threads share the 64 iterations of " in out
