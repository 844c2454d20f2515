"""Each pass, and all that is around it, does as much for the last ops of a program as for those before."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from effort import effort
from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.ir.text import parse_module
from inarch.passes import PASSES

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "linear.py"
MOST = 1.08
"""Steps for the last third of a program's ops, by those for the second third; of a square 5 / 3."""
MOST_SECONDS = 1.5
"""The exponent of the time: 2 is that of a square."""
OPS = 48
"""Of the smallest program: a multiple of what each kind of program is built from."""
LEAST_SECONDS = 0.05
"""What takes less for the smaller program cannot be measured: it counts as so long."""
KIND = "tensor<16xf32>"
ROUNDS = 4
"""What seems slow is timed again: each time is the least."""


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


class _Uncounted(LINEAR.Clock):
    """Does it, and looks at no clock."""

    def measure(self, what: str, work: Callable[..., Any], *arguments: Any) -> Any:
        self.found[what] = 0.0
        return work(*arguments)


def growing(
    program: Program, ops: int, wanted: Sequence[str] = (), more: Sequence[ModulePass] = ()
) -> dict[str, str]:
    """What takes more steps for ops behind others: those for `ops` ops, twice and three times as many.

    What is done once for a program does not matter; what is done once for a process is done before.
    """
    LINEAR.measured(program(ops), _Uncounted(), wanted, more)
    texts = [program(times * ops) for times in (1, 2, 3)]
    one, two, three = (LINEAR.measured(text, LINEAR.Counter(), wanted, more) for text in texts)
    return {
        name: f"{one[name]:.0f}, {two[name]:.0f} and {three[name]:.0f} steps"
        for name in one
        if three[name] - two[name] > MOST * max(two[name] - one[name], ops)
    }


def slow(program: Program, ops: int) -> dict[str, str]:
    """What takes longer than it may for `ops` ops, by what it takes for a quarter, with both times."""
    texts = [program(ops // LINEAR.STEP), program(ops)]
    best: list[dict[str, float]] = [{}, {}]
    found: dict[str, str] = {}
    for _ in range(ROUNDS):
        for known, text in zip(best, texts, strict=True):
            times = LINEAR.measured(text, LINEAR.Clock())
            known |= {name: min(spent, known.get(name, spent)) for name, spent in times.items()}
        small, large = best
        times_more = LINEAR.STEP**MOST_SECONDS
        found = {
            name: f"{small[name]:.3f} s, then {spent:.3f} s"
            for name, spent in large.items()
            if spent > times_more * max(small[name], LEAST_SECONDS)
        }
        if not found:
            break
    return found


@pytest.mark.parametrize("name", ["functions", "moves"])
def test_ops_behind_others_take_no_more_steps(name: str) -> None:
    assert growing(LINEAR.PROGRAMS[name], effort(OPS // 2, OPS)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["residual", "layers", "fan-in", "images", "constants"])
def test_nor_do_those_of_other_programs(name: str) -> None:
    """Long chains of elementwise ops are left out: up to so many of them become one nest, bit by bit."""
    assert growing(LINEAR.PROGRAMS[name], OPS) == {}


@pytest.mark.slow
def test_nor_do_those_of_a_longer_program() -> None:
    """What costs little an iteration is seen when there are many."""
    assert growing(LINEAR.PROGRAMS["constants"], 3 * OPS, ["fold-constants"]) == {}


@pytest.mark.slow
def test_four_times_the_ops_take_four_times_as_long() -> None:
    """What C does in one step is seen by the time only; `benchmarks/linear.py` has it for 50,000 ops."""
    assert slow(LINEAR.PROGRAMS["functions"], 2_000) == {}


def test_a_chain_that_becomes_one_nest_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ops move into each nest that they become a part of; up to 128 of them would be copied each time."""
    values = ["%x", *(f"%{n}" for n in range(OPS))]
    lines = [f"{b} = graph.add {a}, %x : {KIND}, {KIND} -> {KIND}" for a, b in pairwise(values)]
    body = "\n  ".join([*lines, f"func.return {values[-1]} : {KIND}"])
    context = new_context()
    module = parse_module(context, f"func.func @main(%x: {KIND}) -> {KIND} {{\n  {body}\n}}\n")
    PASSES["graph-to-loop"]().apply(context, module)
    copied: list[str] = []
    clone = Operation.clone

    def counted(op: Operation, *arguments: Any, **options: Any) -> Operation:
        copied.append(op.name)
        return clone(op, *arguments, **options)

    monkeypatch.setattr(Operation, "clone", counted)
    PASSES["fuse-nests"]().apply(context, module)
    (nest,) = [op for op in module.walk() if isinstance(op, NestOp)]
    assert len(nest.body.block.ops) == OPS + 1
    assert copied == []


@dataclass(frozen=True)
class Walks(ModulePass):
    """Looks at the ops behind each op."""

    name = "walks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        for each in op.walk():
            behind = each.next_op
            while behind is not None:
                behind = behind.next_op


@dataclass(frozen=True)
class Searches(ModulePass):
    """Asks for the place of each op in a list: one call of C an op."""

    name = "searches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        places = [id(each) for each in op.walk()]
        for each in op.walk():
            places.index(id(each))


def test_squares_are_seen() -> None:
    more = [Walks(), Searches()]
    assert growing(LINEAR.PROGRAMS["moves"], OPS, ["walks"], more).keys() == {"walks", "searches"}
