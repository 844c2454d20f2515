"""`loop.nest` in C: which of the forms a nest takes, and the two forms with plain scalars.

- No parallel loop inside a reduction: one scalar accumulator for each output.
- All parallel loops inside the outermost reduction are serial: a local array of accumulators.
- They are all `unroll` or `vector`, or so are the innermost loops where nothing reduces: registers
  (`write/tile.py`).
- One of the loops scans: `write/scan.py`.
- It looks for the best value and where it is, in lanes: `write/arg_reduce.py`.
- It writes at indices that are read: point by point, as they stand.
- Its points are by themselves, and call exp, log ...: in strips of vectors, `write/strips.py`.
- They are short rows of numbers of several widths: several rows at once, `write/joined.py`.
A mode that none of them obeys is an error (`passes/loop/nests/modes.py`). What is serial the C compiler may
unroll and vectorise as it likes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from inarch.backends.c.plan.gaps import reads_gaps
from inarch.backends.c.plan.linear import Loop, LoopNest, loop_nest
from inarch.backends.c.text import comment
from inarch.backends.c.write.arg_reduce import arg_form, emit_arg_reduction
from inarch.backends.c.write.blocked import Blocks
from inarch.backends.c.write.joined import emit_joined, joined_rows
from inarch.backends.c.write.loops import open_and_pick, open_loops, used_reads, write_guards
from inarch.backends.c.write.scan import emit_scan
from inarch.backends.c.write.scope import Scope, Values, initial_text
from inarch.backends.c.write.strips import emit_strips, strip_lanes
from inarch.backends.c.write.tile import emit_tile
from inarch.backends.c.write.transpose import emit_transpose, transpose_of
from inarch.backends.c.write.value.points import (
    accumulate,
    finish_point,
    finish_tile,
    run_region,
    tile_index,
)
from inarch.core.errors import UnsupportedError
from inarch.dialects.loop.indirect import scatters
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.affine import print_affine_expr
from inarch.ir.location import location_text
from inarch.passes.loop.nests.modes import MOST_ACCUMULATORS, check_modes


def emit_nest(op: NestOp, pointers: Sequence[str], scope: Scope, *, alone: bool = False) -> None:
    """Writes `op`; `pointers` are the C names of its operands, `ins` then `outs`.

    `alone`: nothing else declares names in the same braces, so that the nest needs none of its own.
    """
    scope = scope.child()
    scope.writer.line(comment(nest_text(op, pointers)))
    nest = loop_nest(op, pointers, scope.names, scope.iterations)
    if nest.empty:
        scope.writer.line(comment("no points"))
        return
    scope.unit.reads_gaps |= reads_gaps(nest)
    depth = scope.writer.depth
    if not alone:
        scope.writer.open()
    check_modes(op)
    inner = nest.loops[nest.first_inner :]
    transpose, searched = transpose_of(op, nest), arg_form(op, nest)
    lanes = strip_lanes(op, nest, scope.unit.vector_bytes)
    joined = joined_rows(op, nest, scope.unit.vector_bytes)
    if transpose is not None:
        emit_transpose(transpose, nest, scope)
    elif scatters(op):
        _emit_scalar(op, nest, scope)
    elif nest.scan is not None:
        _check_accumulators(op, nest, range(nest.scan + 1, len(nest.loops)), "scan")
        emit_scan(op, nest, nest.scan, scope)
    elif searched is not None:
        _check_accumulators(op, nest, range(searched.reduction + 1, len(nest.loops)), "reduction")
        emit_arg_reduction(op, nest, searched, scope)
    elif lanes is not None:
        emit_strips(op, nest, lanes, scope)
    elif joined is not None:
        emit_joined(op, nest, joined, scope)
    elif any(loop.mode != "serial" for loop in inner):
        _check_no_lanes(op, inner)
        emit_tile(op, nest, scope)
    elif all(loop.is_reduction for loop in inner):
        _emit_scalar(op, nest, scope)
    else:
        _emit_array(op, nest, scope)
    scope.writer.close(depth)


def _check_no_lanes(op: NestOp, loops: Sequence[Loop]) -> None:
    """Raises UnsupportedError for a reduction that is to run in lanes, of a nest that has not the form."""
    for loop in loops:
        if loop.is_reduction and loop.mode == "vector":
            raise UnsupportedError(
                f"'loop.nest' cannot obey '{loop.name} = {loop.size} vector': expected an arg-reduction "
                "whose reads have no pad and whose places rise along it; make it serial",
                where=location_text(op),
            )


def nest_text(op: NestOp, pointers: Sequence[str]) -> str:
    """One line that says what the nest is: `(m = 4, k = 8 reduction) ins(a[m, k]) outs(c[m])`."""

    def operand(pointer: str, maps: Sequence[object]) -> str:
        return f"{pointer}[{', '.join(str(text) for text in maps)}]"

    loops: list[str] = []
    for iterator in op.iterators:
        kind = "" if iterator.kind.data == "parallel" else f" {iterator.kind.data}"
        mode = "" if iterator.mode.data == "serial" else f" {iterator.mode.data}"
        loops.append(f"{iterator.label.data} = {iterator.size.data}{kind}{mode}")
    maps = [read.map.data for read in op.reads] + [write.map.data for write in op.writes]
    texts = [
        operand(pointer, [print_affine_expr(expr, op.names) for expr in index.results])
        for pointer, index in zip(pointers, maps, strict=True)
    ]
    ins, outs = texts[: len(op.ins)], texts[len(op.ins) :]
    reads = f" ins({', '.join(ins)})" if ins else ""
    return f"({', '.join(loops)}){reads} outs({', '.join(outs)})"


# ------------------------------------------------------------------------- scalar accumulators


def _emit_scalar(op: NestOp, nest: LoopNest, scope: Scope) -> None:
    values = [loop.name for loop in nest.loops]
    outer = range(nest.first_reduction)
    reads = used_reads(op, nest, op.regions)
    open_and_pick(nest, outer, values, write_guards(nest), scope, reads)
    if nest.first_reduction == len(nest.loops):
        if len(nest.writes) == 1:  # its guards hold: the loops around end where it does
            known = nest.writes[0].guards
            nest = replace(nest, reads=tuple(read.within(known) for read in nest.reads))
        starts = [initial_text(write, values, scope) for write in nest.writes]
        arguments: dict[SSAValue, str] = dict(zip(op.accumulators(op.body), starts, strict=True))
        results = run_region(op, nest, values, arguments, scope)
    else:
        results = _accumulators(nest, values, scope)
        inner = range(nest.first_reduction, len(nest.loops))
        blocks = Blocks.of(op, nest, (), scope)
        blocks.begin(results)
        depth = scope.writer.depth
        inside = scope.child()
        open_and_pick(nest, inner, values, (), inside, used_reads(op, nest, [op.body]))
        accumulate(op, nest, values, results, inside)
        blocks.step()
        scope.writer.close(depth)
        results = blocks.end(results)
    finish_point(op, nest, values, results, scope)


def _accumulators(nest: LoopNest, values: Values, scope: Scope) -> list[str]:
    """Declares one accumulator an output."""
    names: list[str] = []
    for write in nest.writes:
        name = scope.names.fresh("acc")
        scope.writer.line(f"{write.dtype.c} {name} = {initial_text(write, values, scope)};")
        names.append(name)
    return names


# ------------------------------------------------------------------------- accumulator array


def _emit_array(op: NestOp, nest: LoopNest, scope: Scope) -> None:
    values = [loop.name for loop in nest.loops]
    first = nest.first_reduction
    inner = range(first, len(nest.loops))
    tile = [i for i in inner if not nest.loops[i].is_reduction]
    sizes = [nest.loops[i].size for i in tile]
    elements = _check_accumulators(op, nest, tile, "outermost reduction")
    reads = used_reads(op, nest, op.regions)
    left = open_and_pick(nest, range(first), values, write_guards(nest), scope, reads)
    index = tile_index(tile, sizes, values)
    arrays = [scope.names.fresh("acc") for _ in nest.writes]
    for write, array in zip(nest.writes, arrays, strict=True):
        scope.writer.line(f"{write.dtype.c} {array}[{elements}];")
    slots = [f"{array}[{index}]" for array in arrays]
    blocks = Blocks.of(op, nest, tile, scope)
    depth = scope.writer.depth

    open_loops(nest, tile, values, (), scope)
    for write, slot in zip(nest.writes, slots, strict=True):
        scope.writer.line(f"{slot} = {initial_text(write, values, scope)};")
    scope.writer.close(depth)

    blocks.begin(arrays)
    inside = scope.child()
    reads = used_reads(op, nest, [op.body])
    outside = [at for at in inner if at < min(tile)]
    open_and_pick(nest, outside, values, (), inside, reads)
    step = scope.writer.depth
    open_and_pick(nest, [at for at in inner if at > max(outside)], values, (), inside, reads)
    accumulate(op, nest, values, slots, inside)
    scope.writer.close(step)
    blocks.step()
    scope.writer.close(depth)
    blocks.end(arrays)

    finish_tile(op, nest, tile, values, slots, left, scope)


def _check_accumulators(op: NestOp, nest: LoopNest, tile: Sequence[int], what: str) -> int:
    """How many accumulators an output has inside of `what`. Raises UnsupportedError for too many."""
    elements = math.prod(nest.loops[i].size for i in tile)
    if elements > MOST_ACCUMULATORS:
        names = ", ".join(nest.loops[i].name for i in tile)
        raise UnsupportedError(
            f"'loop.nest' has {elements} accumulators inside its {what} (at most "
            f"{MOST_ACCUMULATORS}); order some of {names} outside it",
            where=location_text(op),
        )
    return elements
