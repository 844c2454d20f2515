"""Nests that no kernel at all can do, and why."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.keep import KEEP, is_kept
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import points_of
from inarch.ir.location import location_text
from inarch.passes.tensorize.report import NestReport
from inarch.passes.tensorize.weigh.family import Family


def unsuitable(op: NestOp) -> str | None:
    """Why no kernel at all can do the nest."""
    if is_kept(op):
        return f"the nest's schedule is its author's ({KEEP})"
    if op.has_scan:
        return "the nest scans: each point goes on from the one before, which no kernel does"
    if is_indirect(op):
        return "the nest reads its indices, a kernel's operands lie at steps that are known"
    if len(op.outs) != 1:
        return f"the nest writes {len(op.outs)} outputs, a kernel writes one"
    if any(points_of(region.block) for region in op.regions):
        return "the nest computes with the place of its points, which no kernel knows"
    if 0 in op.sizes:
        name = op.names[op.sizes.index(0)]
        return f"the nest has no points: {name} = 0; there is nothing to do"
    return None


def left_alone(op: NestOp, function: str, families: Sequence[Family], reason: str) -> NestReport:
    """The report of a nest that is not tried."""
    kinds = {"parallel": "", "reduction": " reduction", "scan": " scan"}
    axes = ", ".join(
        f"{name} = {size}{kinds[iterator.kind.data]}"
        for name, size, iterator in zip(op.names, op.sizes, op.iterators, strict=True)
    )
    names = [family.pattern.name for family in families]
    return NestReport(
        location_text(op),
        function,
        axes or "none",
        None,
        (),
        dict.fromkeys(names, reason),
        dict.fromkeys(names, 0),
        op.has_reduction,
    )
