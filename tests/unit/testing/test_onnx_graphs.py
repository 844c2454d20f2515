"""Random ONNX models: Inarch computes what the reference evaluator does, by definition and compiled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from effort import seeds
from inarch.testing.onnx_graphs.__main__ import main
from inarch.testing.onnx_graphs.compare import check, difference
from inarch.testing.onnx_graphs.nodes import graph


def test_definitions() -> None:
    assert [said for seed in seeds(60, 3000) if (said := check(graph(seed)))] == []


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_compiled(seed: int) -> None:
    assert check(graph(seed), is_compiled=True) == ""


def test_same_seed_is_same_model() -> None:
    assert graph(7).model.SerializeToString() == graph(7).model.SerializeToString()


def test_difference() -> None:
    ones = np.ones((1, 2), np.float32)
    nan = np.full((1, 2), np.nan, np.float32)
    assert difference(ones, ones + np.float32(1e-6)) == ""
    assert difference(nan, nan) == ""
    assert difference(ones, nan) == "at (0, 0) expected 1.0, found nan (2 of 2)"
    assert difference(ones, ones[0]) == "expected float32(1, 2), found float32(2,)"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "2", "--json", "--out", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"graphs": 2, "findings": []}
