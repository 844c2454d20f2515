"""Puts the functions that are bodies of loops into their loops."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.ir.functions import BODY
from inarch.ir.passes import Pass
from inarch.passes.lower.inlining import inline_functions


@dataclass(frozen=True)
class InlineBodiesPass(Pass):
    """Replaces each call of a private function with the attribute `inarch.body` by the function's ops.

    What the passes before have made of it: nests, copies, calls of microkernels, and scratch, which is new at
    each iteration. Constants go to the start of the function around, as they are the same at each iteration.
    The functions disappear.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_functions(op, BODY)
