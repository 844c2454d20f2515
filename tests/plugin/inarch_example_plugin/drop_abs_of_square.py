"""abs(square(x)) is square(x), for floats."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from inarch.dialects.graph.elementwise.unary import AbsOp
from inarch.dialects.graph.op import tensor_dtype
from inarch_example_plugin.power.square import SquareOp


class _Drop(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AbsOp, rewriter: PatternRewriter) -> None:
        if isinstance(op.x.owner, SquareOp) and tensor_dtype(op.x).is_float:
            rewriter.replace(op, [], [op.x])


@dataclass(frozen=True)
class DropAbsOfSquarePass(ModulePass):
    """Drops the absolute value of a square."""

    name = "drop-abs-of-square"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_Drop()).rewrite_module(op)


PASS = DropAbsOfSquarePass
