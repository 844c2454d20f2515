"""The default schedule of the host `c`: contractions in vector registers, reductions by rows.

A contraction is tiled so that a block of its output lives in registers for the whole reduction: some
rows (copies of the code) by some vectors of columns (output channels), with the factor that varies
along the columns packed so that it is read in order (`kernel.pack`, which `fold-packs` does at compile
time for weights). Rows that the tile does not divide get a nest of their own; lanes over the last
column are zero in the packed factor and clipped in the output.

    for columns by vectors * lanes, for rows by the tile:          before: for m, for n, for k
        acc[rows][vectors] = init
        for k:   acc[i][v] += a[i, k] * packed[k, v]
        out = finish(acc)

Other reductions whose contiguous output iterator is exactly a vector (of blocked channels) keep each
lane's accumulator in a register (`lanes.py`). The rest gets its contiguous output iterator innermost,
where the C compiler vectorises it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.nest import NestOp
from inarch.ir.target import target_of
from inarch.passes.loop.transform import reorder, strides_along
from inarch.passes.schedule.contraction import match_contraction
from inarch.passes.schedule.lanes import tile_lanes
from inarch.passes.schedule.tiling import tile_contraction

MAX_ROW_ACCUMULATORS = 4096
"""Elements of a local accumulator array: 16 KiB of f32 stay in the first-level cache."""


@dataclass(frozen=True)
class ScheduleNestsPass(ModulePass):
    """Tiles, packs and reorders every nest for the module's `inarch.target`."""

    name = "schedule-nests"
    is_optional: ClassVar = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for nest in free_nests(op):
            contraction = match_contraction(nest)
            if contraction is not None and tile_contraction(nest, contraction, target):
                continue
            if not tile_lanes(nest, target):
                _put_contiguous_innermost(nest)


PASS = ScheduleNestsPass


def _put_contiguous_innermost(nest: NestOp) -> None:
    """Moves the contiguous output iterator of a reduction inside it, when operands follow along.

    Pooling and depthwise convolution then run along the row; a reduction over the last axis, whose
    operand does not vary contiguously with any output iterator, stays as it is.
    """
    position = _contiguous_output(nest)
    if position is None or not nest.has_reduction:
        return
    if nest.sizes[position] > MAX_ROW_ACCUMULATORS or not _follows(nest, position):
        return
    order = [i for i in range(len(nest.iterators)) if i != position]
    reordered = reorder(nest, [*order, position])
    parent = nest.parent
    assert parent is not None
    parent.insert_op_before(reordered, nest)
    nest.detach()
    nest.erase()


def _contiguous_output(nest: NestOp) -> int | None:
    """The parallel iterator of more than one point along which the (one) output is contiguous."""
    if len(nest.outs) != 1:
        return None
    found = strides_along(nest, nest.outs[0], nest.write_map(0))
    unit = [i for i, stride in enumerate(found) if stride == 1 and nest.sizes[i] > 1]
    return unit[0] if unit else None


def _follows(nest: NestOp, position: int) -> bool:
    """Whether some operand is read contiguously, or nearly so, along the iterator."""
    strides = [
        strides_along(nest, value, nest.read_map(i))[position] for i, value in enumerate(nest.ins)
    ]
    return any(0 < abs(stride) <= 4 for stride in strides)
