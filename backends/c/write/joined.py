"""`loop.nest` in C: maps of short rows of several widths, of which several rows are one loop.

    for (p = 0; p < 56; p++)                        float all[64];          numbers of a row, four times
        for (i = 0; i < 16; i++)            -->     for (p = 0; p + 4 <= 56; p += 4)
            y[p * 16 + i] = f(x[p * 16 + i], a[i]);     for (n = 0; n < 64; n++)
                                                            y[p * 16 + n] = f(x[p * 16 + n], all[n]);
                                                    the last rows, as any nest

Channels in blocks are such rows. C compilers make vectors of as many lanes as the narrowest of the numbers
fill: 64 bytes, and four vectors of f32. Of a row of 16 gcc 12 makes vectors of four f32 (2.3 times as long, a
residual sum on Zen 4), of one of 8 none (8 times).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from inarch.backends.c.plan.linear import Index, LoopNest, PointerAccess
from inarch.backends.c.write.loops import open_loops, used_reads
from inarch.backends.c.write.scope import Scope, Values, initial_text, place_text
from inarch.backends.c.write.value.points import finish_point, run_region
from inarch.dialects.loop.nest import NestOp


@dataclass(frozen=True)
class Joined:
    """How many rows are one loop, and which of the reads are the same for each of them."""

    rows: int
    held: tuple[int, ...]


def joined_rows(op: NestOp, nest: LoopNest, vector_bytes: int) -> Joined | None:
    """How the nest is one of joined rows; None where it is not: rows are long, or no vectors."""
    if len(nest.loops) < 2 or nest.points or len(nest.writes) != 1 or op.finish is not None:
        return None
    outer, inner = nest.loops[-2:]
    if any(loop.is_reduction or loop.is_scan or loop.mode != "serial" for loop in nest.loops):
        return None
    used = used_reads(op, nest, [op.body])
    accesses = [*used, *nest.writes]
    if inner.iterations is not None or any(one.guards or one.picks for one in accesses):
        return None
    moving = [one for one in accesses if _steps(one) == (inner.size, 1)]
    held = tuple(at for at, one in enumerate(nest.reads) if one in used and _steps(one) == (0, 1))
    still = [one for one in accesses if _steps(one) == (0, 0)]
    if nest.writes[0] not in moving or len(moving) + len(held) + len(still) != len(accesses):
        return None
    widths = {one.dtype.nbytes for one in accesses}
    rows = vector_bytes // (inner.size * min(widths))
    if not held or len(widths) == 1 or not 1 < rows <= outer.size:
        return None
    return Joined(rows, held)


def _steps(access: PointerAccess) -> tuple[int, int]:
    """Elements by which it moves along the two innermost loops."""
    outer, inner = access.offset.coefficients[-2:]
    return outer, inner


def emit_joined(op: NestOp, nest: LoopNest, joined: Joined, scope: Scope) -> None:
    """Writes a nest of `joined_rows`."""
    values: list[str | int] = [loop.name for loop in nest.loops]
    outer, inner, depth = nest.loops[-2], nest.loops[-1], scope.writer.depth
    open_loops(nest, range(len(nest.loops) - 2), values, (), scope)
    inside = scope.child()
    reads, lanes = list(nest.reads), joined.rows * inner.size
    for at in joined.held:
        reads[at] = _all(reads[at], values, joined.rows, inner.size, inside)
    wide = replace(nest, reads=tuple(reads))
    writer, row = inside.writer, str(values[-2])
    writer.line(f"int64_t {row} = {outer.begin};")
    writer.open(f"for (; {row} + {joined.rows} <= {outer.end}; {row} += {joined.rows})")
    _row(op, wide, values, lanes, inside)
    writer.close()
    if outer.iterations is not None or outer.size % joined.rows:
        writer.open(f"for (; {row} < {outer.end}; {row}++)")
        _row(op, nest, values, inner.size, inside)
    writer.close(depth)


def _all(read: PointerAccess, values: Values, rows: int, size: int, scope: Scope) -> PointerAccess:
    """What a row reads, in an array that has it for each of the rows."""
    name, row, lane = (scope.names.fresh(word) for word in ("all", "row", "lane"))
    writer = scope.writer
    writer.line(f"{read.dtype.c} {name}[{rows * size}];")
    writer.open(f"for (int64_t {row} = 0; {row} < {rows}; {row}++)")
    writer.open(f"for (int64_t {lane} = 0; {lane} < {size}; {lane}++)")
    place = place_text(read, [*values[:-1], lane], scope)
    writer.line(f"{name}[{row} * {size} + {lane}] = {read.pointer}[{place}];")
    writer.close()
    writer.close()
    along = (*(0 for _ in values[:-1]), 1)
    return replace(read, pointer=name, offset=Index(along, 0))


def _row(op: NestOp, nest: LoopNest, values: Values, lanes: int, scope: Scope) -> None:
    """A loop over points that lie side by side."""
    scope.writer.open(f"for (int64_t {values[-1]} = 0; {values[-1]} < {lanes}; {values[-1]}++)")
    inside = scope.child()
    starts: dict[SSAValue, str] = dict(
        zip(
            op.accumulators(op.body),
            [initial_text(write, values, inside) for write in nest.writes],
            strict=True,
        )
    )
    finish_point(op, nest, values, run_region(op, nest, values, starts, inside), inside)
    scope.writer.close()
