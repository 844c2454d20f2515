"""What backends hand back when they emit: the ops are the host's, with the reason."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.diagnosis.locate import own_context
from inarch.diagnosis.slices import Slice
from inarch.driver.offload import emit_offloaded
from inarch.passes.partitioning import HOST, PartitionReport, Selection, partition_for


def after_emission(
    context: Context,
    module: ModuleOp,
    backends: Sequence[str],
    *,
    give: Sequence[Selection] = (),
    keep: Sequence[Selection] = (),
) -> PartitionReport:
    """Who has what once the backends have emitted; `module` stays as it is. Raises as `emit` does."""
    own, program = own_context(Slice(module, (), ()), context), module.clone()
    report = partition_for(own, program, *backends, give=give, keep=keep)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report says it
        back = emit_offloaded(own, program).handed_back
    reasons = {one.site.symbol: one for one in back}
    ops = tuple(
        replace(
            op,
            owner=HOST,
            pattern=None,
            region=None,
            reasons={**op.reasons, op.owner: f"emit hands it back: {reasons[op.region].reason}"},
        )
        if op.region in reasons
        else op
        for op in report.ops
    )
    traffic = tuple(one for one in report.traffic if one.region not in reasons)
    return replace(report, ops=ops, traffic=traffic)
