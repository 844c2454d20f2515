"""Regions that are too few ops, or too many of them, for what a backend wants."""

from __future__ import annotations

from inarch.offload.region import Region
from inarch.passes.partition.decide.ask import Outcome
from inarch.passes.partition.decide.draft import Draft
from inarch.passes.partition.decide.release import count_of


def keep_limits(draft: Draft, outcome: Outcome) -> None:
    """Takes out regions below `min_ops`, and all but the `max_regions` largest; not what is given by hand."""
    for name in draft.owners():
        backend = draft.instances.asked(name).backend
        for region in draft.of(name):
            size = count_of(region.ops)
            if size < backend.min_ops and not region.is_given:
                reason = f"its region has {_ops(size)}, fewer than min_ops = {backend.min_ops}"
                _take_out(draft, region, "min_ops", reason, outcome)
        if backend.max_regions is None:
            continue
        left = sorted(draft.of(name), key=lambda one: (not one.is_given, -count_of(one.ops)))
        for region in left[backend.max_regions :]:
            if not region.is_given:
                reason = (
                    f"its region, of {_ops(count_of(region.ops))}, is not among the largest: "
                    f"max_regions = {backend.max_regions}"
                )
                _take_out(draft, region, "max_regions", reason, outcome)


def _take_out(draft: Draft, region: Region, what: str, reason: str, outcome: Outcome) -> None:
    draft.replace([region], [])
    outcome.note(region, what, reason)
    outcome.release(region.owner, region.ops, reason)


def _ops(count: int) -> str:
    return "1 op" if count == 1 else f"{count} ops"
