"""Neighbouring ops of one backend become regions: maximal ones that no path leaves and enters again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from inarch.ir.passes import Pass
from inarch.ir.report.facts import facts_of
from inarch.passes.partition.common import REGION
from inarch.passes.partition.decide.settle import settle
from inarch.passes.partition.report import Recorder
from inarch.passes.partition.verify import check_annotations, check_partition


@dataclass(frozen=True)
class MergeRegionsPass(Pass):
    """Numbers the ops of one region alike: `partition.region`.

    A region is as large as it can be: two that a value connects are merged unless another path
    between them leads through other ops. Then backends decide of theirs (`Backend.decide`): split, shrink,
    veto, merge. Those that lose by what their backend says that they cost (`Backend.cost`), those with fewer
    ops than the backend's `min_ops`, and all but its `max_regions` largest, go back: to another backend that
    was asked and takes them, else to the host; not those that were given by hand. TVM's name:
    MergeCompilerRegions.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_annotations(op)
        merge_regions(ctx, op, facts_of(ctx).get(Recorder))


def merge_regions(
    context: Context,
    module: ModuleOp,
    recorder: Recorder | None = None,
    asked: Sequence[str] = (),
) -> None:
    """The pass; `recorder` gets the reasons of what goes back, and what regions cost.

    `asked` may get what goes back, the first preferred; by default whom the recorder knows.
    """
    names = recorder.backends if recorder is not None and not asked else asked
    settled = settle(context, module, names, recorder)
    for number, region in enumerate(settled.regions):
        for op in region.ops:
            op.attributes[REGION] = IntegerAttr(number, 64)
    if recorder is not None:
        recorder.settle(settled)
    check_partition(module)
