"""Maps of several outputs: drawn maps give equal results in lanes, and fused with their consumers."""

from __future__ import annotations

import pytest

from effort import SEED, effort
from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remarks
from inarch.ir.verify import verify_module
from inarch.passes import PASSES
from inarch.testing import check_compiled, check_semantics
from inarch.testing.generate import GeneratedProgram, inputs
from inarch.testing.generate.choices import Seeded
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.pieces import pieces
from inarch.testing.generate.loop.programs import finished, function_text
from targets import here


def drawn(seed: int, count: int) -> GeneratedProgram:
    """A program of `count` maps of several outputs."""
    choices, context = Seeded(seed), new_context()
    choices.enter("head")
    b = LoopText(choices, context, "main_")
    for _ in range(count):
        choices.enter("step")
        pieces(b)
    choices.enter("close")
    return finished("loop", context, function_text(b, "main"), choices)


def test_drawn_maps_mean_the_same_with_their_readers_and_in_lanes() -> None:
    joined = lanes = 0
    for seed in range(SEED, SEED + effort(12, 400)):
        program = drawn(seed, 2)
        context, module = program.parse()
        arrays = inputs(program, seed)
        check_semantics(module, pipeline="fuse-nests,schedule-nests", ctx=context, inputs=arrays)
        remarks = Remarks()
        facts_of(context).put(remarks)
        PASSES["fuse-nests"]().apply(context, module)
        verify_module(module)
        joined += sum("pieces" in remark.message for remark in remarks.found)
        PASSES["schedule-nests"]().apply(context, module)
        found = [op for op in module.walk() if isinstance(op, NestOp) and len(op.outs) > 1]
        lanes += sum(nest.iterators.data[-1].mode.data == "vector" for nest in found)
    assert joined > 1
    assert lanes > 1


@pytest.mark.parametrize("target", here("x86-64-v3", "generic", "x86-64-v4-on-v3"))
def test_drawn_maps_compiled(target: str) -> None:
    for seed in range(SEED, SEED + effort(1, 40)):
        program = drawn(seed, 6)
        context, module = program.parse()
        check_compiled(module, ctx=context, inputs=inputs(program, seed), target=target)
