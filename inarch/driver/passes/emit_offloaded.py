"""Backends emit the functions that they were given; declarations stay in the program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.driver.offload import emit_offloaded
from inarch.driver.offloaded.fallback import check_fallback
from inarch.ir.passes import Pass
from inarch.ir.report.facts import facts_of


@dataclass(frozen=True)
class EmitOffloadedPass(Pass):
    """Calls each backend's `emit` once, with all its functions, which become private declarations.

    What was emitted is the fact `inarch.driver.offload.Emissions`. The options of backends are those of the
    program's `partition.instances`, by which `annotate` has asked them. What a backend hands back is the
    host's; with `require`, one that hands back everything is an error. With `fallback=host` the host has a
    version of each function, for when a device is missing or fails.
    """

    require: bool = False
    fallback: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fallback = check_fallback(self.fallback)
        facts_of(ctx).put(emit_offloaded(ctx, op, require=self.require, fallback=fallback))
