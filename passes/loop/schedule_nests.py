"""The order of the loops of nests without a microkernel: reductions run along the rows of their output.

    for c, oh, ow: for kh, kw: y[c, oh, ow] = max(...)     -->     for c, oh: for kh, kw: for ow: ...

The C compiler vectorises the innermost loop: the contiguous iterator of the output goes there, where an
operand follows along. The chains of a scan run side by side (`nests/chains.py`), and columns of a reduction
with several outputs. An arg-reduction along a contiguous iterator runs in lanes. Elementwise nests run along
their contiguous reads (`nests/along.py`), and maps of several outputs in lanes (`nests/lanes.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp

from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.indirect import scatters
from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.nest import NestOp
from inarch.ir.passes import OptionalPass
from inarch.ir.target import machine_of, target_of
from inarch.passes.loop.nests.along import run_along
from inarch.passes.loop.nests.arg_reduce import match_arg_reduction, runs_in_lanes
from inarch.passes.loop.nests.chains import put_chains_inside
from inarch.passes.loop.nests.lanes import run_in_lanes
from inarch.passes.loop.nests.modes import MOST_ACCUMULATORS
from inarch.passes.loop.nests.transform import read_strides, reorder, strides_along

NEAR = 4
"""Elements, at most, between what neighbouring outputs read for them to become the innermost loop."""


@dataclass(frozen=True)
class ScheduleNestsPass(OptionalPass):
    """Puts the contiguous output iterator of a reduction innermost, and some chains of a scan inside it.

    In a reduction with several outputs a strip of columns goes inside. The contiguous iterator of an
    arg-reduction of rows, and of a map of several outputs, gets the mode `vector`.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine, target = machine_of(op), target_of(op)
        for nest in free_nests(op):
            if scatters(nest):
                continue  # which row is written is anyone's guess: no order is better than the written one
            if nest.has_scan or (nest.has_reduction and len(nest.outs) > 1):
                _mark_lanes(nest)
                put_chains_inside(nest, machine, MOST_ACCUMULATORS)
                continue
            if nest.has_reduction:
                _put_contiguous_innermost(nest)
            else:
                run_along(nest, target, machine)
                run_in_lanes(nest, target)


def _mark_lanes(nest: NestOp) -> None:
    """Lets an arg-reduction along what is contiguous run in lanes, its only reduction innermost."""
    reductions = [i for i, iterator in enumerate(nest.iterators) if iterator.is_reduction]
    if len(reductions) != 1 or any(iterator.mode.data != "serial" for iterator in nest.iterators):
        return
    (position,) = reductions
    found = match_arg_reduction(nest)
    if found is None or not runs_in_lanes(nest, found, position):
        return
    strides = [strides_along(nest, value, nest.read_map(i)) for i, value in enumerate(nest.ins)]
    contiguous = [sum(abs(s[i]) == 1 for s in strides) for i in range(len(nest.iterators))]
    if contiguous[position] == 0 or contiguous[position] < max(contiguous):
        return
    others = [i for i in range(len(nest.iterators)) if i != position]
    reorder(nest, [*others, position])
    old = nest.iterators.data[-1]
    vector = IteratorAttr.get(old.label.data, old.size.data, old.kind.data, "vector")
    nest.iterators = ArrayAttr([*nest.iterators.data[:-1], vector])


def _put_contiguous_innermost(nest: NestOp) -> None:
    """Moves the contiguous output iterator of a reduction inside it, when operands follow along.

    Pooling and depthwise convolution then run along the row; a reduction over the last axis, whose operand
    does not vary contiguously with any output iterator, stays as it is, and so does one whose iterators have
    modes: its order is its author's.
    """
    position = _contiguous_output(nest)
    if position is None:
        return
    if any(iterator.mode.data in ("unroll", "vector") for iterator in nest.iterators):
        return
    if _accumulators(nest, position) > MOST_ACCUMULATORS or not _follows(nest, position):
        return
    order = [i for i in range(len(nest.iterators)) if i != position]
    reorder(nest, [*order, position])


def _accumulators(nest: NestOp, position: int) -> int:
    """Elements of the local array with the iterator inside of the reduction, beside what is there already."""
    reduces = [iterator.is_reduction for iterator in nest.iterators]
    first = reduces.index(True)
    return math.prod(
        size for i, size in enumerate(nest.sizes) if i == position or (i > first and not reduces[i])
    )


def _contiguous_output(nest: NestOp) -> int | None:
    """The parallel iterator of more than one point along which the (one) output is contiguous."""
    if len(nest.outs) != 1:
        return None
    found = strides_along(nest, nest.outs[0], nest.write_map(0))
    unit = [i for i, stride in enumerate(found) if stride == 1 and nest.sizes[i] > 1]
    return unit[0] if unit else None


def _follows(nest: NestOp, position: int) -> bool:
    """Whether what each term reads is contiguous, or nearly so, along the iterator, or stays where it is."""
    reductions = [i for i, iterator in enumerate(nest.iterators) if iterator.is_reduction]
    every = [read_strides(nest, i) for i in range(len(nest.ins))]
    along = [strides[position] for strides in every if any(strides[i] != 0 for i in reductions)]
    near = [stride for stride in along if stride is not None and abs(stride) <= NEAR]
    return len(near) == len(along) and any(near)
