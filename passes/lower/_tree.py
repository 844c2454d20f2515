"""Reductions as two nests: partial results, of every `parts`-th row of one axis, then the result of those.

    for p, c, r: s[p, c] += x[r * parts + p, c]          for c, p: y[c] += s[p, c]

The first nest reads rows in order: whole ones where axes after the kept ones are reduced, too, and several
short ones at a time as one vector.
"""

from __future__ import annotations

import math

from xdsl.ir import Operation

from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.reduce import ReduceMaxOp, ReduceMinOp, ReduceOp
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.nest_spec import NestBuilder
from inarch.passes.lower.algorithm import Algorithm, Bound, Known
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.refusals import unless_f32

_TERMS = 512
"""Of a result, at the least."""
_LONG = 1 << 14
"""The same where they are one row, which direct reads in order, too: for its bound."""
_ROW = 32
"""Elements of short rows that are one step of the first nest, at most: vectors that stay in registers."""


def tree(op: type[ReduceOp], description: str) -> Algorithm:
    """The algorithm of a class of reductions."""
    return Algorithm(op, _refuses, _lower, _bound, description)


def _refuses(op: Operation) -> str | None:
    assert isinstance(op, ReduceOp), "asked of reductions alone"
    if refused := unless_f32(op.x):
        return refused
    if layout_of(op.x) is not None:
        return "expected a row-major operand"
    least = _LONG if op.reduced_axes() and _inner(op) == 1 else _TERMS
    if not op.reduced_axes() or op.count() < least:
        return f"expected {least} terms or more, found {op.count()}"
    last = _run(op)
    if last > _ROW:
        return (
            f"expected at most {_ROW} neighbouring elements that are kept, or reduced, found {last}"
        )
    if _parts(op) in (1, _rows(op)) and len(op.reduced_axes()) == 1:
        return f"expected a number of rows that {_ROW // _inner(op)} or less divides, found {_rows(op)}"
    return None


def _rows(op: ReduceOp) -> int:
    return shape_of(op.x)[op.reduced_axes()[0]]


def _inner(op: ReduceOp) -> int:
    """Elements of a row of the first reduced axis."""
    return math.prod(shape_of(op.x)[op.reduced_axes()[0] + 1 :])


def _run(op: ReduceOp) -> int:
    """Neighbours in memory that are all kept, or all reduced beside the first axis."""
    shape, axes = shape_of(op.x), op.reduced_axes()
    run, at = 1, len(shape) - 1
    while at > axes[0] and (at in axes) == (len(shape) - 1 in axes):
        run, at = run * shape[at], at - 1
    return run


def _parts(op: ReduceOp) -> int:
    """Partial results: as many rows as divide all of them and are a vector, whole ones before others."""
    rows, inner = _rows(op), _inner(op)
    fitting = [n for n in range(1, max(1, _ROW // inner) + 1) if rows % n == 0]
    return max(fitting, key=lambda parts: (parts * inner % 8 == 0, parts))


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ReduceOp), "another op is refused"
    shape, axes, parts = shape_of(op.x), op.reduced_axes(), _parts(op)
    x, y, dtype = builder.buffers[op.x], builder.result(op.out), tensor_dtype(op.out)
    first = axes[0]
    partial = (*shape[:first], parts, *shape[first + 1 :])
    s = builder.alloc(memref_of(x).element_type, partial)
    nest = NestBuilder()
    at = nest.shape(partial)
    row = nest.reduction("r", shape[first] // parts) * parts + at[first]
    read = (*at[:first], row, *at[first + 1 :])
    builder.nest(nest.spec([read], at, op.step, init=op.start()), [x], [dtype], s, dtype)
    nest = NestBuilder()
    kept = {a: nest.parallel(f"i{a}", n) for a, n in enumerate(partial) if a not in axes}
    reduced = {axis: nest.reduction(f"r{axis}", partial[axis]) for axis in axes}
    read = [(kept | reduced)[axis] for axis in range(len(shape))]
    all_axes = range(len(shape)) if op.keeps_axes() else kept
    write = [kept.get(axis, 0) for axis in all_axes]
    result = nest.spec([read], write, op.step, init=op.start(), finish=op.finish())
    builder.nest(result, [s], [dtype], y, dtype)


def _bound(op: Operation, _known: Known) -> Bound:
    """Roundings on the way of a term, of those of one chain; those of greatest elements round nothing."""
    assert isinstance(op, ReduceOp), "asked of reductions alone"
    if isinstance(op, ReduceMaxOp | ReduceMinOp):
        return Bound(
            1.0,
            by_element=True,
            about="no number is rounded; of 0 and -0 the other one may be found",
        )
    count, each = op.count(), _rows(op) // _parts(op)
    return Bound((each + count // each) / count, by_element=True)
