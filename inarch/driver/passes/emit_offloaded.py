"""Backends emit the functions that they were given; declarations stay in the program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.driver.offload import Emissions, emit_offloaded, parse_option
from inarch.ir.report.facts import facts_of


@dataclass(frozen=True)
class EmitOffloadedPass(ModulePass):
    """Calls each backend's `emit` once, with all its functions, which become private declarations.

    What was emitted is the fact `inarch.driver.offload.Emissions`. `options` are the backends' own:
    `options="npu:array=16","npu:memory=4"`.
    """

    name = "emit-offloaded"
    options: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options: dict[str, dict[str, str]] = {}
        for text in self.options:
            backend, option, value = parse_option(text, "emit-offloaded")
            options.setdefault(backend, {})[option] = value
        facts_of(ctx).put(Emissions(emit_offloaded(ctx, op, options)))


PASS = EmitOffloadedPass
