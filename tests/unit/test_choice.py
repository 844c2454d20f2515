"""benchmarks/choice.py: what is chosen and others are built, and measured in turn."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import parse_shape
from inarch.machine.target import native

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "choice.py"


@pytest.fixture(scope="module")
def choice() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("choice", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["choice"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_others_of_a_tiny_layer_are_measured(choice: ModuleType) -> None:
    """Each candidate is another tile or another order of loops, and has a time."""
    harness = Harness(native())
    result = choice.measure(parse_shape("32x9x9->32k3"), harness, others=2, rounds=1)
    assert len(result.names) == len(result.nanoseconds) == 3
    assert len(set(result.names)) == 3
    assert all(value > 0 for value in result.nanoseconds)
    assert 0 < result.ratio <= 1


def test_the_summary_counts_good_choices(choice: ModuleType) -> None:
    """A choice 5 % slower than the best is good, one 6 % slower is not."""
    best = choice.Result("a", ("x", "y"), (100.0, 120.0))
    good = choice.Result("b", ("x", "y"), (104.9, 100.0))
    bad = choice.Result("c", ("x", "y"), (106.0, 100.0))
    assert choice.summary([best, good, bad]) == "within 5 % of the best on 2 of 3"
    assert str(best).endswith("x")
    assert str(bad).endswith("best 0.1 us  y")
