"""Who has what in the end: decisions, costs and limits, until nothing more goes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from inarch.ir.report.facts import facts_of
from inarch.offload.instance import Asked, Instances
from inarch.offload.region import Region
from inarch.passes.partition.by_hand import read_by_hand
from inarch.passes.partition.common import BACKEND, KEEP, tensor_blocks, text_of
from inarch.passes.partition.cut.rewrite import strip
from inarch.passes.partition.decide.ask import Decided, Outcome, ask_to_decide
from inarch.passes.partition.decide.cost import Measuring, Price
from inarch.passes.partition.decide.draft import Draft, HostEstimate
from inarch.passes.partition.decide.limits import keep_limits
from inarch.passes.partition.decide.release import drop_copy, release
from inarch.passes.partition.decide.weigh import Scales
from inarch.passes.partition.match.claims import claim_ops
from inarch.passes.partition.match.names import Names
from inarch.passes.partition.match.write import write_claims
from inarch.passes.partition.merge_composites import merge_composites

if TYPE_CHECKING:
    from inarch.passes.partition.report import Recorder


@dataclass
class Settled:
    """The regions of a program, and how they came about."""

    regions: list[Region]
    prices: dict[Region, Price]
    why: dict[Region, str]
    decided: list[Decided]


def settle(
    context: Context,
    module: ModuleOp,
    names: Sequence[str],
    recorder: Recorder | None = None,
) -> Settled:
    """The regions of `module`, each legal, none that loses; what goes back loses its owner in the program.

    `names` are the instances that get what another one loses, the first preferred. Each turn forms all
    regions anew: with other neighbours they are other regions. An op that went back from an instance never
    returns to it, so that there is an end.
    """
    return _Settling(context, module, Instances(context, module), names, recorder).run()


@dataclass
class _Settling:
    context: Context
    module: ModuleOp
    instances: Instances
    names: Sequence[str]
    recorder: Recorder | None
    lost: dict[Operation, dict[str, str]] = field(default_factory=dict[Operation, dict[str, str]])
    decided: list[Decided] = field(default_factory=list[Decided])

    def run(self) -> Settled:
        """Turns, until nobody takes anything more."""
        facts = facts_of(self.context)
        estimate = (facts.get(HostEstimate) or HostEstimate()).seconds
        measuring = facts.get(Measuring)
        asked = [self.instances.asked(name) for name in self.names]
        while True:
            draft = Draft(self.module, self.instances, estimate)
            outcome = Outcome()
            for name in draft.owners(self.names):
                ask_to_decide(draft, self.instances.asked(name), outcome)
            prices = self._prices(draft, asked, measuring, outcome)
            keep_limits(draft, outcome)
            self._let_go(outcome)
            if not outcome.released or not self._claim_again(asked, outcome):
                break
            # What did not go back is decided once more, of the regions of the next turn.
            self.decided += [one for one in outcome.decided if one.what in _GONE]
        for op in self.lost:
            strip(op, KEEP)
            drop_copy(op)
        regions = draft.regions
        return Settled(regions, prices, outcome.why, [*self.decided, *outcome.decided])

    def _prices(
        self,
        draft: Draft,
        asked: Sequence[Asked],
        measuring: Measuring | None,
        outcome: Outcome,
    ) -> dict[Region, Price]:
        """Nothing is counted where nobody asks: of backends without a cost, without a report."""
        owners = [self.instances.asked(name).backend for name in draft.owners()]
        silent = measuring is None and all(backend.cost is None for backend in owners)
        if silent and not (self.recorder is not None and self.recorder.counts):
            return {}
        return Scales(self.context, draft, asked, self.lost, measuring).weigh(outcome)

    def _let_go(self, outcome: Outcome) -> None:
        for op, (owner, reason) in outcome.released.items():
            for inner in release(op):
                self.lost.setdefault(inner, {})[owner] = reason
                if self.recorder is not None:
                    self.recorder.refuse(inner, owner, reason)

    def _claim_again(self, asked: Sequence[Asked], outcome: Outcome) -> bool:
        """Whether somebody takes something of what went back."""
        by_hand = read_by_hand(self.module)
        kept = dict(by_hand.kept)
        for op, owners in self.lost.items():
            kept[op] = kept.get(op, frozenset()) | set(owners)
        for op, name in outcome.only.items():
            kept[op] |= {one.name for one in asked} - {name}
        owned = {op for _, block in tensor_blocks(self.module) for op in block.ops if _owner(op)}
        claims = claim_ops(
            self.module, asked, replace(by_hand, kept=kept), (), Names(), self.recorder
        )
        if self.recorder is not None:
            self._correct(asked, outcome)
        if not claims.owners.keys() - owned:
            return False
        write_claims(self.module, claims)
        merge_composites(self.context, self.module)
        return True

    def _correct(self, asked: Sequence[Asked], outcome: Outcome) -> None:
        """The reasons of what nobody kept by hand, but for this turn."""
        assert self.recorder is not None
        for op, name in outcome.only.items():
            for one in asked:
                self.recorder.refuse(op, one.name, f"backend {name} was found to be faster")
        for op, owners in self.lost.items():
            for owner, reason in owners.items():
                self.recorder.refuse(op, owner, reason)


def _owner(op: Operation) -> str | None:
    return text_of(op, BACKEND)


_GONE = ("veto", "shrink", "cost", "min_ops", "max_regions")
"""What sends ops back."""
