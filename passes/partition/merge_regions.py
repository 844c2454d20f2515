"""Neighbouring ops of one backend become regions: maximal ones that no path leaves and enters again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.report.facts import facts_of
from inarch.passes.partition.common import (
    GIVE,
    REGION,
    backend_named,
    tensor_blocks,
)
from inarch.passes.partition.cut.regions import RegionOfOps, merged_regions
from inarch.passes.partition.cut.rewrite import strip
from inarch.passes.partition.report import Recorder
from inarch.passes.partition.verify import check_annotations, check_partition


@dataclass(frozen=True)
class MergeRegionsPass(ModulePass):
    """Numbers the ops of one region alike: `partition.region`.

    A region is as large as it can be: two that a value connects are merged unless another path
    between them leads through other ops. Those with fewer ops than the backend's `min_ops`, and all
    but its `max_regions` largest, go back to the host; not those that were given by hand. TVM's name:
    MergeCompilerRegions.
    """

    name = "merge-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_annotations(op)
        merge_regions(op, facts_of(ctx).get(Recorder))


PASS = MergeRegionsPass


def merge_regions(module: ModuleOp, recorder: Recorder | None = None) -> None:
    """The pass; `recorder` gets the reasons of what goes back to the host."""
    regions = [region for _, block in tensor_blocks(module) for region in merged_regions(block)]
    returned = _returned(regions)
    count = 0
    for region in regions:
        if region in returned:
            _return(region, returned[region], recorder)
            continue
        for op in region.ops:
            op.attributes[REGION] = IntegerAttr(count, 64)
        count += 1
    check_partition(module)


def _returned(regions: Sequence[RegionOfOps]) -> dict[RegionOfOps, str]:
    """The regions that go back to the host, with the reason."""
    found: dict[RegionOfOps, str] = {}
    for name in dict.fromkeys(region.backend for region in regions):
        mine = [region for region in regions if region.backend == name]
        backend = backend_named(name, mine[0].ops[0])
        for region in mine:
            size = _size(region)
            if size < backend.min_ops and not _is_given(region):
                found[region] = (
                    f"its region has {_ops(size)}, fewer than min_ops = {backend.min_ops}"
                )
        if backend.max_regions is None:
            continue
        left = [region for region in mine if region not in found]
        left.sort(key=lambda region: (not _is_given(region), -_size(region)))
        for region in left[backend.max_regions :]:
            if not _is_given(region):
                found[region] = (
                    f"its region, of {_ops(_size(region))}, is not among the largest: "
                    f"max_regions = {backend.max_regions}"
                )
    return found


def _ops(count: int) -> str:
    return "1 op" if count == 1 else f"{count} ops"


def _size(region: RegionOfOps) -> int:
    return sum(len(_inner(op)) for op in region.ops)


def _inner(op: Operation) -> list[Operation]:
    """The ops that count: of a composite those in it."""
    if not isinstance(op, CompositeRegionOp):
        return [op]
    return [
        inner
        for inner in op.body.block.ops
        if inner is not op.body.block.last_op and not isinstance(inner, ConstantOp)
    ]


def _is_given(region: RegionOfOps) -> bool:
    return any(GIVE in op.attributes for op in region.ops)


def _return(region: RegionOfOps, reason: str, recorder: Recorder | None) -> None:
    note: Callable[[Operation, str, str], None] | None = recorder.refuse if recorder else None
    for op in region.ops:
        for inner in _inner(op):
            strip(inner)
            if note is not None:
                note(inner, region.backend, reason)
        if isinstance(op, CompositeRegionOp):
            _dissolve(op)


def _dissolve(composite: CompositeRegionOp) -> None:
    """Puts the ops of a composite in its place."""
    parent, block = composite.parent, composite.body.block
    last = block.last_op
    assert parent is not None  # it is in a function
    assert last is not None  # C2 of the composite
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, composite.inputs, strict=True))
    yielded = [values.get(value, value) for value in last.operands]
    for argument, value in zip(block.args, composite.inputs, strict=True):
        argument.replace_all_uses_with(value)
    for op in list(block.ops):
        op.detach()
        if op is not last:
            parent.insert_op_before(op, composite)
    for result, value in zip(composite.outs, yielded, strict=True):
        result.replace_all_uses_with(value)
    last.erase()
    composite.detach()
    composite.erase()
