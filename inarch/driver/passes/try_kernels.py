"""Kernels of others are tried before `tensorize` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.driver.kernel_choice import trial_for
from inarch.ir.passes import Pass
from inarch.ir.report.facts import facts_of


@dataclass(frozen=True)
class TryKernelsPass(Pass):
    """Lets `tensorize` build each kernel of others alone, and check it quickly, before it is taken.

    The program stays as it is. One that fails is a warning, and another kernel or none does the nest.
    """

    is_analysis: ClassVar = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        facts_of(ctx).put(trial_for(op))
