"""`loop.nest` in C: points by themselves that call our own functions of f32, in strips of several vectors.

    for (; n + 32 <= N; n += 32) {
        const v8f32 a = load(A + n), a_1 = load(A + (n + 8)), ...
        inarch_exp_v8f32_x4(a - m, &y, a_1 - m, &y_1, ...);      see `value/several.py`
        store y, y_1, ...
    }
    for (; n < N; n++)                                           the remainder, as any nest

C compilers make vectors of such loops, one at a time. A point has the same bits in either.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.traits import IsTerminator

from inarch.backends.c.plan.linear import LoopNest
from inarch.backends.c.types import element
from inarch.backends.c.write.loops import open_and_pick, used_reads
from inarch.backends.c.write.scope import Scope, Values, load_text, place_text
from inarch.backends.c.write.value.elementary import TOGETHER
from inarch.backends.c.write.value.expressions import our_function
from inarch.backends.c.write.value.points import finish_point, run_region
from inarch.backends.c.write.value.vectors import (
    Value,
    evaluate_several,
    load,
    splat,
    store,
)
from inarch.core.dtypes import DTYPES
from inarch.dialects.loop.nest import NestOp
from inarch.passes.loop.nests.lanes import is_native

_FEWEST = 4
"""Lanes of vectors that are worth it."""


def strip_lanes(op: NestOp, nest: LoopNest, vector_bytes: int) -> int | None:
    """Lanes of a vector where the nest is one of strips; None where it is not."""
    f32 = DTYPES["f32"]
    lanes = vector_bytes // f32.nbytes
    if op.finish is not None or nest.points or len(nest.writes) != 1 or not nest.loops:
        return None
    if any(loop.is_reduction or loop.is_scan or loop.mode != "serial" for loop in nest.loops):
        return None
    along = len(nest.loops) - 1
    if lanes < _FEWEST or nest.loops[along].size < lanes * TOGETHER:
        return None
    (write,) = nest.writes
    if write.step(along) != 1 or write.guards or write.dtype != f32 or write.picks:
        return None
    reads = used_reads(op, nest, [op.body])
    if any(read.step(along) not in (0, 1) or read.guards or read.dtype != f32 for read in reads):
        return None
    if any(accumulator.first_use for accumulator in op.accumulators(op.body)):
        return None
    ops = [one for one in op.body.block.ops if not one.has_trait(IsTerminator)]
    if any(element(value.type) != f32 for one in ops for value in (*one.operands, *one.results)):
        return None
    return lanes if all(map(is_native, ops)) and any(map(our_function, ops)) else None


def emit_strips(op: NestOp, nest: LoopNest, lanes: int, scope: Scope) -> None:
    """Writes a nest of `strip_lanes`."""
    values: list[str | int] = [loop.name for loop in nest.loops]
    along = len(nest.loops) - 1
    name, loop = str(values[along]), nest.loops[along]
    open_and_pick(nest, range(along), values, (), scope, used_reads(op, nest, [op.body]))
    scope.writer.line(f"int64_t {name} = {loop.begin};")
    step = lanes * TOGETHER
    scope.writer.open(f"for (; {name} + {step} <= {loop.end}; {name} += {step})")
    inside = scope.child()
    parts = [
        [*values[:along], f"({name} + {lanes * at})" if at else name] for at in range(TOGETHER)
    ]
    (write,) = nest.writes
    kind = inside.unit.vector(write.dtype, lanes)
    arguments = [_arguments(op, nest, lanes, part, inside) for part in parts]
    found = evaluate_several(op.body.block, arguments, lanes, inside)
    for part, value in zip(parts, found, strict=True):
        text = value.text if value.is_vector else f"({kind.c}){splat(value.text, kind)}"
        inside.writer.line(store(write.pointer, place_text(write, part, inside), kind, text))
    scope.writer.close()
    if loop.iterations is None and loop.size % step == 0:
        return
    scope.writer.open(f"for (; {name} < {loop.end}; {name}++)")
    inside = scope.child()
    starts: dict[SSAValue, str] = dict.fromkeys(op.accumulators(op.body), "0")
    finish_point(op, nest, values, run_region(op, nest, values, starts, inside), inside)
    scope.writer.close()


def _arguments(
    op: NestOp, nest: LoopNest, lanes: int, values: Values, scope: Scope
) -> dict[SSAValue, Value]:
    """The elements that the body uses at the lanes of one vector; invariant operands are scalars."""
    found: dict[SSAValue, Value] = {}
    along = len(nest.loops) - 1
    for argument, read in zip(op.element_arguments(op.body), nest.reads, strict=True):
        if argument.first_use is None:
            continue
        kind = scope.unit.vector(read.dtype, lanes)
        if read.step(along) == 0:
            text = scope.share(read.dtype.c, read.pointer, load_text(read, values, scope))
            found[argument] = Value(text, is_vector=False)
            continue
        text = load(read.pointer, place_text(read, values, scope), kind)
        found[argument] = Value(scope.declare(kind.c, read.pointer, text), is_vector=True)
    return found
