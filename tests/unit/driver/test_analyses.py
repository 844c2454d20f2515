"""Analyses: computed once for what has not changed, and never stale."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from effort import effort
from inarch.dialects import new_context
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.dialects.loop.memory import memref_of
from inarch.ir.functions import functions
from inarch.ir.report.analyses import Analyses, analyses_of
from inarch.ir.report.fingerprint import Fingerprint
from inarch.ir.text import parse_module
from inarch.passes.loop.nests.uses import BufferUses
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import Instrument, Step, run_pipeline
from inarch.pipeline.text import parse_pipeline
from inarch.testing import generate

TEXT = """func.func @main(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.relu %0 : tensor<4xf32> -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
"""
LOOPS = """func.func @main(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%t[i] : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  loop.nest (i = 8) ins(%t[7 - i] : memref<8xf32>) outs(%c[i] : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}
"""


class Ops:
    """How many ops there are."""

    def __init__(self, count: int) -> None:
        self.count = count

    @classmethod
    def of(cls, op: Operation) -> Ops:
        return cls(sum(1 for _ in op.walk()))


def _parsed(text: str = TEXT) -> tuple[Context, ModuleOp, FuncOp]:
    context = new_context()
    module = parse_module(context, text)
    function = functions(module)[0]
    first, second, *_ = function.body.block.args
    Rewriter.replace_value_with_new_type(second, first.type)  # one object: types tell nothing apart
    return context, module, function


def _relus(function: FuncOp) -> list[ReluOp]:
    return [op for op in function.walk() if isinstance(op, ReluOp)]


def test_what_has_not_changed_is_not_computed_again() -> None:
    context, module, function = _parsed()
    analyses = analyses_of(context)
    first = analyses.get(Ops, function)
    assert analyses_of(context).get(Ops, function) is first
    assert analyses.get(Ops, module).count == first.count + 3  # another op
    function.body.block.args[0].name_hint = "input"  # says nothing
    assert analyses.get(Ops, function) is first
    assert (analyses.computed, analyses.reused) == (2, 2)


def _reads_another(function: FuncOp) -> None:
    _relus(function)[0].operands[0] = function.body.block.args[1]


def _has_an_attribute(function: FuncOp) -> None:
    _relus(function)[1].attributes["mark"] = _relus(function)[1].results[0].type


def _is_gone(function: FuncOp) -> None:
    """The last op, so that what is left is as it was."""
    last = function.body.block.last_op
    assert last is not None
    last.detach()


def _is_elsewhere(function: FuncOp) -> None:
    first, second = _relus(function)
    second.operands[0] = first.operands[0]
    first.operands[0] = first.operands[0]
    first.detach()
    function.body.block.insert_op_after(first, second)


@pytest.mark.parametrize("change", [_reads_another, _has_an_attribute, _is_gone, _is_elsewhere])
def test_what_has_changed_is_computed_again(change: object) -> None:
    context, _, function = _parsed()
    analyses = analyses_of(context)
    before = analyses.get(Ops, function)
    made = Fingerprint(function)
    assert callable(change)
    change(function)
    assert not made.is_same(Fingerprint(function))
    assert not Fingerprint(function).is_same(made)
    assert analyses.get(Ops, function) is not before


class _Erases(ModulePass):
    name = "erases"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        other = functions(op)[1]
        analyses_of(ctx).get(Ops, other)
        analyses_of(ctx).get(Ops, functions(op)[0])
        op.body.block.erase_op(other)


def test_functions_that_are_gone_are_forgotten() -> None:
    context, module, function = _parsed()
    run_pipeline(context, module, [_Erases()])
    assert list(analyses_of(context)._held) == [(Ops, function)]  # pyright: ignore[reportPrivateUsage]


def test_passes_that_change_nothing_share_what_they_know() -> None:
    """Requirement of a pass manager: `rematerialize` finds nothing here, and `fuse-nests` asks the same."""
    context, module, _ = _parsed(LOOPS)
    run_pipeline(context, module, list(parse_pipeline("rematerialize,fuse-nests")))
    analyses = analyses_of(context)
    assert (analyses.computed, analyses.reused) == (1, 1)


def test_uses_of_buffers_go_through_views() -> None:
    text = LOOPS.replace(
        "  loop.nest (i = 8) ins(%t[7 - i] : memref<8xf32>)",
        "  %v = loop.reshape %t : memref<8xf32> to memref<2x4xf32>\n"
        "  loop.nest (i = 8) ins(%v[0, 0] : memref<2x4xf32>)",
    )
    _, _, function = _parsed(text)
    uses = BufferUses.of(function)
    a, _, c = function.body.block.args
    t = next(iter(function.body.block.ops)).results[0]
    assert memref_of(t) == memref_of(a)
    assert {buffer: list(at) for buffer, at in uses.used.items()} == {a: [1], t: [1, 2, 3], c: [3]}
    assert {buffer: list(at) for buffer, at in uses.written.items()} == {t: [1], c: [3]}


class _Compares(Instrument):
    """After each pass, what is held of each function is what is computed anew."""

    def __init__(self, analyses: Analyses) -> None:
        self.analyses = analyses

    def before(self, step: Step, module: ModuleOp) -> None:
        self.after(step, module)

    def after(self, step: Step, module: ModuleOp) -> None:
        for function in functions(module):
            if len(function.body.blocks) == 1:
                assert self.analyses.get(BufferUses, function) == BufferUses.of(function), step.name


@pytest.mark.parametrize("level", ["graph", "loop"])
def test_nothing_is_stale_whatever_passes_do(level: str) -> None:
    compared = None
    for program in generate.programs(level, 27, effort(4, 12)):
        context, module = program.parse()
        compared = _Compares(analyses_of(context))
        run_pipeline(context, module, list(default_pipeline()), [compared])
        assert compared.analyses.reused > 10  # a pass that changes nothing
        assert compared.analyses.computed > 2
    assert compared is not None
