"""Puts the function of a layer where it is called: what passes made of one layer, for all that are alike."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.ir.functions import LAYER
from inarch.ir.passes import Pass
from inarch.passes.lower.inlining import inline_functions


@dataclass(frozen=True)
class InlineLayersPass(Pass):
    """Replaces each call of a private function with the attribute `inarch.layer` by the function's ops.

    Each is where the op of its own layer was, as `inarch.locations` says. The functions disappear.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_functions(op, LAYER)
