"""Copies whose source and destination run along different loops: blocks of 4 x 4 elements in registers.

C compilers make gathers or single loads of such a nest, 2 to 13 cycles an element on Zen 4 where blocks take
0.4 to 1.7 (f32, 64 x 64 to 1024 x 1024). Blocks are done so that 16 neighbours of a row of the destination,
a line of 4-byte elements, are written while it is in the first-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from inarch.backends.c.plan.linear import Loop, LoopNest, PointerAccess
from inarch.backends.c.write.loops import open_loops
from inarch.backends.c.write.scope import Scope
from inarch.dialects.loop.nest import NestOp

EDGE = 4
"""Elements of a block's edge."""
_LINE = 16
"""Elements of the destination's rows that are written together."""
_BITS = (32, 64)


@dataclass(frozen=True)
class Transpose:
    """`to[.., j, .., k] = from[.., k, .., j]`: loops by position; `j` runs along `from`, `k` along `to`."""

    source: PointerAccess
    target: PointerAccess
    j: int
    k: int


def transpose_of(op: NestOp, nest: LoopNest) -> Transpose | None:
    """What the nest is, if it is such a copy, without pads or clips, and no loop's mode is its author's."""
    if op.finish is not None or op.has_reduction or len(nest.reads) != 1 or len(nest.writes) != 1:
        return None
    (source,), (target,) = nest.reads, nest.writes
    last = op.body.block.last_op
    assert last is not None, "the verifier has seen to it"
    if last.operands[0] is not op.element_arguments(op.body)[0] or source.guards or target.guards:
        return None
    if source.dtype.bits not in _BITS or any(loop.mode != "serial" for loop in nest.loops):
        return None
    moves = list(zip(source.offset.coefficients, target.offset.coefficients, strict=True))
    along = [i for i, (by, to) in enumerate(moves) if by == 1 and abs(to) > 1]
    across = [i for i, (by, to) in enumerate(moves) if abs(by) > 1 and to == 1]
    if not along or not across:
        return None
    # Of a window, its position and its element both run along the source: the longer one makes more blocks.
    j, k = (max(loops, key=lambda i: nest.loops[i].size) for loops in (along, across))
    if min(nest.loops[j].size, nest.loops[k].size) < EDGE:
        return None
    return Transpose(source, target, j, k)


def emit_transpose(found: Transpose, nest: LoopNest, scope: Scope) -> None:
    """Writes the blocks; the last ones of what no block divides do some elements twice, which a copy may."""
    loops, j, k = nest.loops, found.j, found.k
    outer = [i for i in range(len(loops)) if i not in (j, k)]
    values = [loop.name for loop in loops]
    open_loops(nest, outer, values, (), scope)
    depth, line = scope.writer.depth, scope.names.fresh("line")
    inside, columns = scope.child(), loops[k].size
    (first, last), rows = _cuts(loops[k], inside), _cuts(loops[j], inside)
    _open(inside, line, first, last, _LINE)
    end = inside.declare("int64_t", "end", f"{line} + {_LINE} < {last} ? {line} + {_LINE} : {last}")
    values[j] = _open_blocks(inside, values[j], *rows, loops[j].size)
    values[k] = _open_blocks(inside, values[k], line, end, columns)
    apart, to_apart = found.source.offset.coefficients[k], found.target.offset.coefficients[j]
    helper = scope.unit.need(f"inarch_transpose_b{found.source.dtype.bits}")
    source = f"{found.source.pointer} + {found.source.offset.text(values)}"
    target = f"{found.target.pointer} + {found.target.offset.text(values)}"
    inside.writer.line(f"{helper}({source}, {apart}, {target}, {to_apart});")
    inside.writer.close(depth)


def _cuts(loop: Loop, scope: Scope) -> tuple[str, str]:
    """Where the blocks of a thread begin and end.

    No two threads write one element, of which the last block has some that are of the block before it.
    """
    if loop.iterations is None:
        return loop.begin, loop.end
    last = loop.size - EDGE

    def cut(iteration: str) -> str:
        up = f"({iteration} + {EDGE - 1}) / {EDGE} * {EDGE}"
        return scope.declare("int64_t", f"{loop.name}_cut", f"{up} > {last} ? {loop.size} : {up}")

    return cut(loop.begin), cut(loop.end)


def _open_blocks(scope: Scope, name: str, start: int | str, end: int | str, size: int) -> str:
    """A loop over blocks of `size` elements; where a block begins, none past the last that fits."""
    _open(scope, name, start, end, EDGE)
    if size % EDGE == 0:
        return name
    last = size - EDGE
    return scope.declare("int64_t", f"{name}_block", f"{name} < {last} ? {name} : {last}")


def _open(scope: Scope, name: str, start: int | str, end: int | str, step: int) -> None:
    scope.writer.open(f"for (int64_t {name} = {start}; {name} < {end}; {name} += {step})")


def _helper(bits: int) -> str:
    lanes = 128 // bits
    kind = f"uint{bits}_t"
    rows = range(EDGE)
    parts = range(EDGE // lanes)
    lines = [
        f"    const v r{k}_{p} = *(const m *)((const {kind} *)from + {k} * apart + {p * lanes});"
        for k in rows
        for p in parts
    ]
    if lanes == 2:
        pairs = [(k, p) for k in (0, 2) for p in parts]
        for k, p in pairs:
            for lane in range(2):
                mixed = f"INARCH_SHUFFLE2(r{k}_{p}, r{k + 1}_{p}, {lane}, {lane + 2})"
                lines.append(
                    f"    *(m *)(({kind} *)to + {2 * p + lane} * to_apart + {k}) = {mixed};"
                )
    else:
        for name, a, b, order in (
            ("a", 0, 1, "0, 4, 1, 5"),
            ("b", 0, 1, "2, 6, 3, 7"),
            ("c", 2, 3, "0, 4, 1, 5"),
            ("d", 2, 3, "2, 6, 3, 7"),
        ):
            lines.append(f"    const v {name} = INARCH_SHUFFLE4(r{a}_0, r{b}_0, {order});")
        for j, (a, b, order) in enumerate(
            (
                ("a", "c", "0, 1, 4, 5"),
                ("a", "c", "2, 3, 6, 7"),
                ("b", "d", "0, 1, 4, 5"),
                ("b", "d", "2, 3, 6, 7"),
            )
        ):
            lines.append(
                f"    *(m *)(({kind} *)to + {j} * to_apart) = INARCH_SHUFFLE4({a}, {b}, {order});"
            )
    names = ", ".join("ijkl"[:lanes])
    body = "\n".join(lines)
    return f"""
#if defined(__clang__)
#define INARCH_SHUFFLE{lanes}(x, y, {names}) __builtin_shufflevector(x, y, {names})
#else
#define INARCH_SHUFFLE{lanes}(x, y, {names}) __builtin_shuffle(x, y, (v){{{names}}})
#endif
/* to[j][k] = from[k][j], 4 x 4 elements of {bits} bits; rows are so many elements apart. */
static inline void inarch_transpose_b{bits}(const void *from, int64_t apart, void *to, int64_t to_apart)
{{
    typedef {kind} v __attribute__((vector_size(16)));
    typedef {kind} m __attribute__((vector_size(16), aligned({bits // 8}), may_alias));
{body}
}}
"""


HELPERS = {f"inarch_transpose_b{bits}": _helper(bits) for bits in _BITS}
"""By name: the C of a block."""
