"""A `loop.nest` that scans, in C: chains whose every step is written, as many side by side as the nest says.

The parallel loops inside the scan are the chains. They are named accumulators where all these loops are
`unroll`: a step of one does not wait for that of another. Else they are a local array, along which the C
compiler makes vectors:

    for i: acc0 = init, acc1 = init                   for j: acc[j] = init
        for k: acc0 += x[2 * i][k]                    for k: for j: acc[j] += x[k][j]
               y[2 * i][k] = acc0                                   y[k][j] = acc[j]
               acc1 += x[2 * i + 1][k] ...

Along the scan nothing is reordered: C keeps the order of floating-point sums. Other modes than all `unroll`
or all serial are an error (`passes/loop/nests/modes.py`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from inarch.backends.c.plan.linear import LoopNest
from inarch.backends.c.write.loops import open_and_pick, open_loops, used_reads
from inarch.backends.c.write.scope import Scope, initial_text
from inarch.backends.c.write.value.points import (
    accumulate,
    finish_point,
    finish_tile,
    tile_index,
)
from inarch.dialects.loop.nest import NestOp


def emit_scan(op: NestOp, nest: LoopNest, scan: int, scope: Scope) -> None:
    """Writes `op`, whose loop at position `scan` scans; outputs have an init and no guards (C9)."""
    values: list[str | int] = [loop.name for loop in nest.loops]
    open_and_pick(nest, range(scan), values, (), scope, used_reads(op, nest, op.regions))
    if all(loop.mode == "unroll" for loop in nest.loops[scan + 1 :]):
        _emit_copies(op, nest, scan, values, scope)
    else:
        _emit_array(op, nest, scan, values, scope)


def _emit_copies(
    op: NestOp, nest: LoopNest, scan: int, values: Sequence[str | int], scope: Scope
) -> None:
    """Named accumulators, and a copy of the body for each point inside the scan."""
    points = itertools.product(*(range(loop.size) for loop in nest.loops[scan + 1 :]))
    chains: list[tuple[list[str | int], list[str]]] = []
    for point in points:
        at = [*values[: scan + 1], *point]
        names: list[str] = []
        for write in nest.writes:
            names.append(scope.names.fresh("acc"))
            scope.writer.line(f"{write.dtype.c} {names[-1]} = {initial_text(write, at, scope)};")
        chains.append((at, names))
    depth = scope.writer.depth
    inside = scope.child()
    open_loops(nest, [scan], values, (), inside)
    for at, names in chains:
        accumulate(op, nest, at, names, inside)
        finish_point(op, nest, at, names, inside)
    scope.writer.close(depth)


def _emit_array(
    op: NestOp, nest: LoopNest, scan: int, values: Sequence[str | int], scope: Scope
) -> None:
    """A local array of accumulators for each output; at each step loops around the body, then `finish`."""
    tile = range(scan + 1, len(nest.loops))
    sizes = [nest.loops[i].size for i in tile]
    index = tile_index(tile, sizes, values)
    slots: list[str] = []
    for write in nest.writes:
        array = scope.names.fresh("acc")
        scope.writer.line(f"{write.dtype.c} {array}[{math.prod(sizes)}];")
        slots.append(f"{array}[{index}]")
    depth = scope.writer.depth
    open_loops(nest, tile, values, (), scope)
    for write, slot in zip(nest.writes, slots, strict=True):
        scope.writer.line(f"{slot} = {initial_text(write, values, scope)};")
    scope.writer.close(depth)
    open_loops(nest, [scan], values, (), scope)
    step = scope.writer.depth
    inside = scope.child()
    open_loops(nest, tile, values, (), inside)
    accumulate(op, nest, values, slots, inside)
    if _follow_each_other(nest, scan):
        scope.writer.close(step)
        finish_tile(op, nest, tile, values, slots, (), scope)
    else:
        finish_point(op, nest, values, slots, inside)
    scope.writer.close(depth)


def _follow_each_other(nest: LoopNest, scan: int) -> bool:
    """Whether what one step reads and writes begins where the one before ends.

    Then adding and storing are two loops. Of one loop gcc does two steps at once ("unroll and jam"), which
    reads and writes two rows by turns: that takes 10 ms and not 4 where rows are one stream (64 x 512 x 512
    of f32, gcc 12, Zen 4), but 6 ms and not 10 where each piece of a row is in another page (64 x 262144).
    """
    elements = math.prod(loop.size for loop in nest.loops[scan + 1 :])
    accesses = (*nest.reads, *nest.writes)
    return all(abs(each.offset.coefficients[scan]) == elements for each in accesses)
