"""Chooses the algorithm of each graph op that has several: the cheapest that the numerics policy allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from inarch.core.errors import UsageError
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.location import location_text
from inarch.ir.passes import OptionalPass
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import remarks_of
from inarch.passes.graph._asked import graph_ops, mark_asked
from inarch.passes.lower.algorithm import (
    ATTRIBUTE,
    DIRECT,
    algorithm_of,
    algorithms_of,
    asked_for,
    described,
    identity_of,
)
from inarch.passes.lower.op_prices import OpPrices, bytes_of
from inarch.passes.lower.weighed import Algorithms, Weighed
from inarch.passes.tuned import choose

_WORTH = 4
"""How much faster an algorithm is that is worth any constants."""
_LEAST_GROWTH = 16 * 2**20
"""Bytes by which the constants of any program may grow."""


@dataclass(frozen=True)
class ChooseAlgorithmPass(OptionalPass):
    """Writes `inarch.algorithm` of each op that has several algorithms.

    A selection by the user comes first: `inarch.algorithms = ["conv=winograd-2x2", "layer1/*=direct"]`, or
    the op's attribute. Next come tuning records. Otherwise the pass chooses the cheapest algorithm that the
    policy allows (`inarch.numerics`: `strict`, `bounded`, `fast`), by the cost of its nests. Transformed
    weights may be larger than the op's: all constants together grow at most by the factor `growth`, or by
    16 MiB; the ops that save most cycles for a byte come first.
    Algorithms that are four times as fast are exempt.
    """

    growth: float = 1.3

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mark_asked(op)
        if not 1 <= self.growth < math.inf:
            raise UsageError(f"{self.name}: growth: expected a number >= 1, found {self.growth}")
        facts_of(ctx).put(report := Algorithms())
        prices = OpPrices.of(ctx, op)
        every = [(each, prices.ways(each)) for each in graph_ops(op) if any(algorithms_of(each))]
        constants = sum(
            bytes_of(one.results[0]) for one in op.walk() if isinstance(one, ConstantOp)
        )
        more = max((self.growth - 1) * constants, _LEAST_GROWTH)
        for (each, _), weighed in zip(every, _within(every, more), strict=True):
            taken = self._taken(ctx, op, each, weighed)
            if taken != DIRECT and (said := described(each, taken)) not in report.taken:
                report.taken.append(said)
            report.found.append((location_text(each) or each.name, _first(weighed, taken)))

    def _taken(self, ctx: Context, module: ModuleOp, op: Operation, all_: list[Weighed]) -> str:
        asked = asked_for(op)
        if asked is not None:
            algorithm_of(op, asked)  # which raises for an unknown name
            return asked
        able = [one for one in all_ if not one.refused]
        usual = min(able, key=lambda one: one.cycles).name
        others = [one.name for one in able if one.name != usual]
        taken = usual
        if others:
            identity = partial(identity_of, op)
            taken = choose(ctx, module, self.name, [op], usual, others, identity=identity)
        if taken != DIRECT:
            op.attributes[ATTRIBUTE] = StringAttr(taken)
            part = next(one.cycles for one in able if one.name == taken) / able[0].cycles
            remarks_of(ctx).done(op, f"{taken}, at {part:.2f} of the cycles of direct")
        return taken


def _within(every: Sequence[tuple[Operation, list[Weighed]]], more: float) -> list[list[Weighed]]:
    """Refuses algorithms by which the constants grow by over `more` bytes, those that save least for a byte.

    Greedy: each step takes the change of one op that saves most cycles for each byte more. An algorithm
    that is `_WORTH` times as fast as the one that is left is taken all the same.
    """
    able = [[one for one in weighed if not one.refused] for _, weighed in every]
    asked = [asked_for(op) for op, _ in every]
    best = [min(some, key=lambda one: one.cycles) for some in able]
    grown = sum(one.constants - some[0].constants for one, some in zip(best, able, strict=True))
    if grown <= more:
        return [weighed for _, weighed in every]
    now = [
        next((one for one in some if one.name == name), some[0])
        for some, name in zip(able, asked, strict=True)
    ]
    left = more - sum(
        one.constants - some[0].constants for one, some in zip(now, able, strict=True)
    )
    while True:
        changes = [
            (math.inf if added <= 0 else (old.cycles - one.cycles) / added, -at, one)
            for at, (old, some, name) in enumerate(zip(now, able, asked, strict=True))
            for one in some
            if name is None
            and one.cycles < old.cycles
            and (added := one.constants - old.constants) <= left
        ]
        if not changes:
            break
        _, at, one = max(changes, key=lambda change: change[:2])
        left -= one.constants - now[-at].constants
        now[-at] = one
    now = [
        fastest if name is None and fastest.cycles * _WORTH < one.cycles else one
        for one, fastest, name in zip(now, best, asked, strict=True)
    ]
    return [
        [_refused(one, taken) for one in weighed]
        for (_, weighed), taken in zip(every, now, strict=True)
    ]


def _refused(one: Weighed, taken: Weighed) -> Weighed:
    """Where it is faster than the one that is taken, and larger."""
    if one.refused or one.cycles >= taken.cycles or one is taken:
        return one
    mib = (one.constants - taken.constants) / 2**20
    return replace(one, refused=f"{mib:.1f} MiB more of constants are over the limit of growth")


def _first(weighed: list[Weighed], taken: str) -> list[Weighed]:
    return sorted(weighed, key=lambda one: (one.name != taken, bool(one.refused), one.cycles))
