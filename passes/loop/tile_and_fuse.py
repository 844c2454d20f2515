"""Nests that hand large buffers on run block by block, in loops around all of them.

    S = Q K    (1024 x 1024)                for i = 0 to 1024 step 32:
    P = exp(S - max(S))             -->         S = Q[i : i + 32] K    (32 x 1024)
    Y = P V / sum(P)                            P = exp(S - max(S))
                                                Y[i : i + 32] = P V / sum(P)

What is handed on is then as large as a block, and is still in the caches when it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from inarch.core.errors import UsageError
from inarch.ir.functions import entry_blocks
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import demanded_kernels, machine_of
from inarch.machine.machine import Machine
from inarch.passes.loop.nests.uses import BufferUses
from inarch.passes.loop.tiling.group import groups
from inarch.passes.loop.tiling.loops import run_in_blocks
from inarch.passes.loop.tiling.sources import read_sources
from inarch.passes.loop.tiling.worth import Plan, least_bytes, plan_of


@dataclass(frozen=True)
class TileAndFusePass(ModulePass):
    """Puts loops around nests that share large buffers, where the caches gain more than they lose.

    `rows`: how many points of the innermost loop a block has; 0: as many as the caches have room for.
    `keys`: how many keys of a softmax a block has, with a running maximum and sum; 0: all of them, or as
    many as the machine's costs say. `always`: whatever it costs, for tests.
    """

    name = "tile-and-fuse"
    is_optional: ClassVar = True

    rows: int = 0
    always: bool = False
    keys: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name, count in (("rows", self.rows), ("keys", self.keys)):
            if count < 0:
                raise UsageError(
                    f"{self.name}: {name}: expected a whole number from 0 on, found {count}"
                )
        whole_products = bool(demanded_kernels(op))
        for _, block in entry_blocks(op):
            self._tile(block, machine_of(op), remarks_of(ctx), whole_products=whole_products)

    def _tile(
        self, block: Block, machine: Machine, remarks: Remarks, *, whole_products: bool
    ) -> None:
        """The best group of all, then the best that shares no nest with it, and so on."""
        least = 0 if self.always or self.keys else least_bytes(machine)
        plans = [
            (group, plan_of(group, machine, self.rows, self.keys))
            for group in groups(block, least_bytes=least, whole_products=whole_products)
        ]
        found = [one for one in plans if one[1].gain > 0 or self.always or self._is_wanted(one[1])]
        found.sort(
            key=lambda one: (len(one[0].nests) * self._is_wanted(one[1]), one[1].merit),
            reverse=True,
        )
        uses = BufferUses.of_block(block) if found else None
        tiled: set[Operation] = set()
        for group, plan in found:
            if not tiled.isdisjoint(group.nests):
                continue
            tiled.update(group.nests)
            names = " x ".join(map(str, plan.blocks))
            remarks.done(
                group.nests[-1],
                f"{len(group.nests)} nests run in blocks of {names}: {plan.before} bytes of scratch are "
                f"{plan.after}",
            )
            assert uses is not None, "a group has been found"
            run_in_blocks(read_sources(group, uses), plan.blocks, along=plan.keys)

    def _is_wanted(self, plan: Plan) -> bool:
        """Whether it has the blocks of keys that were asked for: more of the nests, not a better gain."""
        return bool(self.keys) and plan.keys is not None


PASS = TileAndFusePass
