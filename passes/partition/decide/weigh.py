"""Regions that lose go back: to the host, or to another backend that says that it is faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

from inarch.dialects.graph.constant import ConstantOp
from inarch.offload.instance import Asked
from inarch.offload.region import Region
from inarch.passes.partition.by_hand import read_by_hand
from inarch.passes.partition.common import tensor_blocks
from inarch.passes.partition.cut.alone import alone
from inarch.passes.partition.decide.ask import Outcome
from inarch.passes.partition.decide.cost import Measuring, Price, price_of, spoken
from inarch.passes.partition.decide.draft import Draft
from inarch.passes.partition.decide.release import inner_ops, release
from inarch.passes.partition.match.claims import claim_ops
from inarch.passes.partition.match.names import Names
from inarch.passes.partition.match.write import write_claims
from inarch.passes.partition.merge_composites import merge_composites

Lost = Mapping[Operation, Mapping[str, str]]
"""Op -> the backends that have had it, and why no more."""


@dataclass
class Scales:
    """What the regions of a draft cost, each asked for once."""

    context: Context
    draft: Draft
    asked: Sequence[Asked]
    """All that may get what another one loses, the first preferred."""
    lost: Lost
    measuring: Measuring | None = None

    def price(self, region: Region) -> Price:
        """What `region` costs on either side."""
        owner = self.draft.instances.asked(region.owner, region.ops[0])
        return price_of(region, owner, self.measuring)

    def weigh(self, outcome: Outcome) -> dict[Region, Price]:
        """Takes out what loses; the prices of the others. What is given by hand stays.

        A region loses where the host is faster, or where another backend that states a cost is, with all
        that it would take of the region and the host's estimate of the rest.
        """
        prices = {region: self.price(region) for region in self.draft.regions}
        for region, price in prices.items():
            if region.is_given:
                continue
            if price.loses:
                self._lose(region, f"its region takes {price}", outcome)
                continue
            best = self._best_bid(region, price)
            if best is not None:
                name, seconds = best
                reason = f"backend {name} does its region in {spoken(seconds)}: {price}"
                outcome.only.update(
                    dict.fromkeys((op for each in region.ops for op in inner_ops(each)), name)
                )
                self._lose(region, reason, outcome)
        return {region: prices[region] for region in self.draft.regions}

    def _lose(self, region: Region, reason: str, outcome: Outcome) -> None:
        self.draft.replace([region], [])
        outcome.note(region, "cost", reason)
        outcome.release(region.owner, region.ops, reason)

    def _best_bid(self, region: Region, price: Price) -> tuple[str, float] | None:
        if price.seconds is None:
            return None
        ops = [inner for op in region.ops for inner in inner_ops(op)]
        bids = [
            (one.name, self._bid(region, one))
            for one in self.asked
            if one.name != region.owner and one.backend.cost is not None
            if not any(one.name in self.lost.get(op, {}) for op in ops)
        ]
        better = [bid for bid in bids if bid[1] < price.seconds]
        return min(better, key=lambda bid: bid[1], default=None)

    def _bid(self, region: Region, other: Asked) -> float:
        """The seconds of the region's ops where `other` takes of them what it can, and the host the rest."""
        module = alone(self.draft.module, region.ops)
        block = tensor_blocks(module)[0][1]
        for op in list(block.ops):
            if not isinstance(op, ConstantOp | ReturnOp):
                release(op)
        by_hand = read_by_hand(module)
        write_claims(module, claim_ops(module, [other], by_hand, (), Names(), None))
        merge_composites(self.context, module)
        trial = Draft(module, self.draft.instances, self.draft.estimate)
        taken = {op for each in trial.regions for op in each.ops}
        rest = [
            op for op in block.ops if op not in taken and not isinstance(op, ConstantOp | ReturnOp)
        ]
        seconds = trial.region(region.owner, rest).host_seconds if rest else 0.0
        for each in trial.regions:
            own = price_of(each, other, self.measuring)
            assert own.seconds is not None  # it states a cost
            seconds += min(own.seconds, own.host_seconds)
        return seconds
