"""Nests that hand large buffers on run block by block, in loops around all of them.

    S = Q K    (1024 x 1024)                for i = 0 to 1024 step 32:
    P = exp(S - max(S))             -->         S = Q[i : i + 32] K    (32 x 1024)
    Y = P V / sum(P)                            P = exp(S - max(S))
                                                Y[i : i + 32] = P V / sum(P)

What is handed on is then as large as a block, and is still in the caches when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.core.errors import UsageError
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import store_of
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import remarks_of
from inarch.ir.report.structure import structure_of
from inarch.ir.target import demanded_kernels, machine_of, target_of
from inarch.passes.loop.tiling.core import Core
from inarch.passes.loop.tiling.figures import Measure
from inarch.passes.loop.tiling.group import Group, groups
from inarch.passes.loop.tiling.loops import run_in_blocks
from inarch.passes.loop.tiling.masks import Masks
from inarch.passes.loop.tiling.softmax import maximum_of
from inarch.passes.loop.tiling.worth import Plan, least_bytes, plan_of
from inarch.passes.tuned import choose, is_tuned


@dataclass(frozen=True)
class TileAndFusePass(OptionalPass):
    """Puts loops around nests that share large buffers, where the caches gain more than they lose.

    `rows`: how many points of the innermost loop a block has; 0: as many as the caches have room for.
    `keys`: how many keys of a softmax a block has, with a running maximum and sum; 0: all of them, or as
    many as the machine's costs say; keys that a constant mask hides from a whole block of rows are then left
    out. `always`: whatever it costs, for tests.
    """

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
        core = Core.of(machine_of(op), target_of(op))
        for _, block in entry_blocks(op):
            self._tile(op, block, core, ctx, whole_products=whole_products)

    def _tile(
        self, module: ModuleOp, block: Block, core: Core, ctx: Context, *, whole_products: bool
    ) -> None:
        """The best group of all, then the best that shares no nest with it, and so on."""
        remarks, masks = remarks_of(ctx), Masks(store_of(ctx))
        least = 0 if self.always or self.keys else least_bytes(core.machine)
        measure, alike = Measure(target_of(module), machine_of(module)), Alike()

        def plan(group: Group, rows: int) -> Plan:
            return plan_of(group, core, measure, masks, rows, self.keys)

        plans = [
            (group, alike.plan(group, lambda one: plan(one, self.rows)))
            for group in groups(block, least_bytes=least, whole_products=whole_products)
        ]
        most_lost = 1 / core.machine.l2.bandwidth if is_tuned(ctx) else 0.0
        found = [
            one
            for one in plans
            if one[1].way.gain > -most_lost * one[1].way.before or self._is_wanted(one[1])
        ]
        found.sort(key=self._merit, reverse=True)
        tiled: set[Operation] = set()
        for group, best in found:
            if not tiled.isdisjoint(group.nests):
                continue
            chosen = self._chosen(ctx, module, group, best, plan)
            if chosen is None:
                continue
            tiled.update(group.nests)
            way = chosen.way
            hidden = chosen.keys is not None and not chosen.keys[0].window.is_whole
            remarks.done(
                group.nests[-1],
                f"{len(group.nests)} nests run in {_text(way.blocks)}: {way.before} bytes of scratch are "
                f"{way.after}{', hidden keys are left out' if hidden else ''}",
            )
            run_in_blocks(group, way.blocks, along=chosen.keys)

    def _chosen(
        self,
        ctx: Context,
        module: ModuleOp,
        group: Group,
        best: Plan,
        plan: Callable[[Group, int], Plan],
    ) -> Plan | None:
        """How the group is run: by the best plan where it gains, or what was measured to be faster."""
        ways: dict[str, Callable[[], Plan | None]] = {_text(best.way.blocks): lambda: best}
        *outer, rows = best.way.blocks
        if not self.rows:
            for other in (2 * rows, rows // 2):
                if 0 < other <= group.sizes[-1]:
                    ways[_text((*outer, other))] = lambda other=other: plan(group, other)
        ways["whole"] = lambda: None
        pays = best.way.gain > 0 or self._is_wanted(best)
        usual = _text(best.way.blocks) if pays else "whole"
        others = [way for way in ways if way != usual]
        return ways[choose(ctx, module, self.name, group.nests, usual, others)]()

    def _is_wanted(self, plan: Plan) -> bool:
        """Whether it is what was asked for, whatever it gains."""
        return self.always or (bool(self.keys) and plan.keys is not None)

    def _merit(self, one: tuple[Group, Plan]) -> tuple[int, float, int]:
        """What is greater of the better one of two: it gains more, or as much with less memory.

        Of those that were asked for, more nests come first, and always the less memory.
        """
        group, plan = one
        nests = len(group.nests) if self._is_wanted(plan) else 0
        gain = 0.0 if self.always else plan.way.gain
        return nests, gain, plan.way.before - plan.way.after


def _text(blocks: Sequence[int]) -> str:
    return f"blocks of {' x '.join(map(str, blocks))}"


class Alike:
    """The plans of groups that have no softmax: equal ones are made once, as networks repeat their layers.

    The plan of one with a softmax depends on more than the group, as on masks that others write.
    """

    def __init__(self) -> None:
        self._plans: dict[object, Plan] = {}
        self._numbers: dict[object, int] = {}
        self._number = cache(self._number_of)

    def plan(self, group: Group, make: Callable[[Group], Plan]) -> Plan:
        """What `make` gives of it, or has given of an equal one."""
        numbers = [self._number(nest) for nest in group.nests]
        if None in numbers:
            return make(group)
        places: dict[SSAValue, int] = {}
        operands = [
            places.setdefault(value, len(places)) for nest in group.nests for value in nest.operands
        ]
        scratch = [places[value] for value in group.scratch]
        key = tuple(numbers), tuple(operands), tuple(scratch), group.classes
        if key not in self._plans:
            self._plans[key] = make(group)
        return self._plans[key]

    def _number_of(self, nest: NestOp) -> int | None:
        """The same for nests of equal structure; None for the weights of a softmax."""
        if maximum_of(nest) is not None:
            return None
        structure = structure_of(nest, nest.operands)
        return self._numbers.setdefault(structure, len(self._numbers))
