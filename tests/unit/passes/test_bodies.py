"""Scans, whiles and branches: random bodies at every level."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr

from effort import SOAK, seeds
from inarch.dialects import new_context
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.text import parse_module
from inarch.machine.target import native
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.choices import Seeded
from inarch.testing.generate.graph.programs import graph_program
from inarch.testing.generate.program import GeneratedProgram


def program(kind: str, seed: int) -> GeneratedProgram:
    """A program of which most ops are scans, whiles, or branches."""
    return graph_program(Seeded(f"{kind} {seed}"), favour=[f"graph.{kind}"] * 8)


SMALL = {"scan": 3, "if": 0, "while": 1}
"""Seeds of programs of two or three dozen lines: larger ones take seconds."""


@pytest.mark.parametrize("kind", SMALL)
def test_bodies_keep_their_meaning(kind: str) -> None:
    """For two targets; what takes most of the time is what they mean, by the definitions."""
    chosen = [*range(4), *seeds(4, 4)] if SOAK else [SMALL[kind]]
    found = check_programs([program(kind, seed) for seed in chosen], ["generic", str(native())])
    assert not found, "\n".join(f"{one.index}, {one.target}: {one.message}" for one in found)


_T, _W = "tensor<32x256xf32>", "tensor<256x256xf32>"
_BODY = f"""%s: {_T}, %v: {_W}):
    %r = graph.transpose %v perm = [1, 0] : {_W} -> {_W}
    %p = graph.matmul %s, %r : {_T}, {_W} -> {_T}
    %q = graph.tanh %p : {_T} -> {_T}"""
_LOOPS = {
    "scan": f"""
  %y = graph.scan 5 iterations from(%x) each() all(%w) backward [] : ({_T}, {_W}) -> ({_T}) {{
  ^bb0({_BODY}
    graph.yield %q : {_T}
  }}""",
    "while": f"""
  %y = graph.while %n if %c from(%x) all(%w, %c)
      : (tensor<i64>, tensor<i1>, {_T}, {_W}, tensor<i1>) -> ({_T}) {{
  ^bb0(%i: tensor<i64>, {_BODY.replace("):", ", %d: tensor<i1>):")}
    graph.yield %d, %q : tensor<i1>, {_T}
  }}""",
}


@pytest.mark.parametrize("kind", _LOOPS)
def test_weights_that_come_at_run_time_are_laid_out_before_the_loop(kind: str) -> None:
    """As a kernel wants them: an iteration writes nothing of their size."""
    text = f"""func.func @main(%n: tensor<i64>, %c: tensor<i1>, %x: {_T}, %w: {_W}) -> {_T} {{{_LOOPS[kind]}
  func.return %y : {_T}
}}"""
    context = new_context()
    module = parse_module(context, text)
    module.attributes["inarch.target"] = StringAttr("x86-64-v3")
    run_pipeline(context, module, default_pipeline(), [])
    laid_out = [
        op for op in module.walk() if isinstance(op, AllocOp) and "256x256" in str(op.buffer.type)
    ]
    assert laid_out
    assert not [op for op in laid_out if isinstance(op.parent_op(), ForOp | WhileOp)]
