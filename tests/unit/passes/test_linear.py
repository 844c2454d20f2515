"""Each pass, and all that is around them, takes four times as long for four times as many ops."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "linear.py"
MOST = 1.5
"""The exponent: 2 is the square."""
LEAST_SECONDS = 0.03
"""What takes less for the smaller program cannot be measured: it counts as so long."""
ROUNDS = 4
"""What seems slow is measured again: each time is the least."""


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("linear", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["linear"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


LINEAR = _script()
Program = Callable[[int], str]
Times = Mapping[str, float]


def slow(
    program: Program,
    ops: int,
    wanted: Sequence[str] = (),
    more: Sequence[ModulePass] = (),
    rounds: int = ROUNDS,
) -> dict[str, str]:
    """What takes longer than it may for `ops` ops, by what it takes for a quarter, with both times."""
    texts = [program(ops // LINEAR.STEP), program(ops)]
    small: Times = {}
    large: Times = {}
    found: list[str] = []
    for _ in range(rounds):
        small, large = (
            _least(known, LINEAR.seconds(text, math.inf, wanted, more))
            for known, text in zip((small, large), texts, strict=True)
        )
        most = {name: LINEAR.STEP**MOST * max(small[name], LEAST_SECONDS) for name in small}
        found = [name for name in small if large[name] > most[name]]
        if not found:
            return {}
    return {name: f"{small[name]:.3f} s, then {large[name]:.3f} s" for name in found}


def _least(known: Times, found: Times) -> Times:
    return {name: min(spent, known.get(name, math.inf)) for name, spent in found.items()}


@pytest.mark.parametrize("name", ["functions", "moves"])
def test_four_times_the_ops_take_four_times_as_long(name: str) -> None:
    assert slow(LINEAR.PROGRAMS[name], 320) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["layers", "fan-out", "residual", "constants"])
def test_larger_programs_as_well(name: str) -> None:
    """`benchmarks/linear.py` has more kinds, of up to 50,000 ops."""
    assert slow(LINEAR.PROGRAMS[name], 800) == {}


@dataclass(frozen=True)
class Square(ModulePass):
    """Counts the ops behind each op, ten times: squares of steps as short as Python has them."""

    name = "square"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        for _ in range(10):
            for each in op.walk():
                behind = each.next_op
                while behind is not None:
                    behind = behind.next_op


def test_a_square_is_seen() -> None:
    assert set(slow(LINEAR.PROGRAMS["elementwise"], 1_200, ["square"], [Square()], 1)) == {"square"}
