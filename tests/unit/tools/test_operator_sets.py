"""The models that `benchmarks/operators.py` measures: each is what its name says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def _product(a: Any, b: Any) -> Any:
    return a @ b


def _sums(x: Any) -> Any:
    return np.cumsum(x, axis=0)


def _places(x: Any) -> Any:
    return np.argmax(x, axis=1)


@pytest.mark.parametrize(
    ("group", "name", "expected"),
    [
        ("products", "256 x 256 x 256", _product),
        pytest.param("rows", "cumsum 64 x 262144 axis 0", _sums, marks=pytest.mark.slow),
        ("rows", "argmax 16384 x 1024 axis 1", _places),
    ],
)
def test_an_operator_computes_what_it_is_called(
    group: str,
    name: str,
    expected: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By onnxruntime; no two of a set have one name."""
    runtime: Any = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    sets: Any = import_module("operator_sets")
    found = [*sets.SETS[group]()]
    operators: dict[str, Any] = {one.name: one for one in found}
    assert len(operators) == len(found)
    path = tmp_path / "operator.onnx"
    operators[name].save(path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rng: Any = np.random.default_rng(0)
    given: dict[str, Any] = {
        each.name: rng.standard_normal(each.shape).astype(np.float32)
        for each in session.get_inputs()
    }
    (result,) = session.run(None, given)
    assert result.shape == operators[name].shape
    np.testing.assert_allclose(result, expected(*given.values()), rtol=1e-4, atol=1e-3)
    sys.modules.pop("operator_sets")
