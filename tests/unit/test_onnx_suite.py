"""A fixed part of ONNX's own backend tests; `tests/conformance/suite.py` runs all of them."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

SUITE = Path(__file__).parents[1] / "conformance" / "suite.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SUITE.exists(), reason="tests/conformance is not beside these tests"),
]


@cache
def suite() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance_suite", SUITE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@cache
def cases() -> dict[str, object]:
    return {case.name: case for case in suite().cases()}


def names() -> list[str]:
    """About 150 of the cases that pass: some of every category, spread over all operators."""
    expected = SUITE.with_name("expected.txt").read_text().split() if SUITE.exists() else []
    rare = [name for name in expected if name[5:6].isupper() or name.startswith("test_operator_")]
    return sorted({*expected[::12], *rare[::4]})


@pytest.mark.parametrize("name", names())
def test_case(name: str) -> None:
    if name not in cases():
        pytest.skip("this version of onnx has no such case")
    outcome = suite().run(cases()[name])
    assert outcome.kind == "pass", outcome.reason


def test_what_inarch_lacks_is_unsupported() -> None:
    lacking = ["test_string_concat", "test_nonzero_example", "test_unique_sorted_with_axis"]
    for name in lacking:
        assert suite().run(cases()[name]).kind == "unsupported", name


def test_there_are_cases() -> None:
    assert len(cases()) > 1000
    assert set(names()) <= set(cases())
