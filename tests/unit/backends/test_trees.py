"""Loops around nests: scratch of each iteration, and of each thread; views that move; in place."""

from __future__ import annotations

import pytest

from inarch.dialects import new_context
from inarch.machine.target import native
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.choices import Seeded
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.programs import finished, function_text, steps
from inarch.testing.generate.loop.trees import tree
from inarch.testing.generate.program import GeneratedProgram


def trees(seed: int) -> GeneratedProgram:
    """Some loops, one after the other."""
    choices, context = Seeded(f"trees {seed}"), new_context()
    choices.enter("head")
    b = LoopText(choices, context, "main_")
    b.kind = choices.pick(("f32", "f32", "f64", "i32"))
    steps(b, [(1, tree)], 4)
    return finished("loop", context, function_text(b, "main"), choices)


@pytest.mark.parametrize("target", ["generic", "native"])
def test_trees_keep_their_meaning(target: str) -> None:
    """By one thread and by three, which is the same bit for bit."""
    name = str(native()) if target == "native" else target
    found = check_programs([trees(seed) for seed in range(12)], [name])
    assert not found, "\n".join(f"{one.index}: {one.message}" for one in found)
