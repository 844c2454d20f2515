"""Transposed convolutions as products: each tap of each pixel (columns), which are then summed (col2im).

    c[n, oc, k.., i..] = sum over ic of w[ic, oc, k..] x[n, ic, i..]
    y[n, oc, o..] = bias[oc] + sum over k.. of c[n, oc, k.., (o + begin - k * dilation) / stride]

A result is summed where it is written, in the order of its taps: nothing is added in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, pairwise, product
from operator import add

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.dialects.graph.windows.phase import Phase
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.nest_spec import NestBuilder, multiply_add
from inarch.dialects.scalar import Scalar, constant
from inarch.machine.machine import Machine
from inarch.passes.lower.algorithm import Algorithm, Bound, Known
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.refusals import unless_f32, unless_one_group

_MOST_NESTS = 96
"""Each is compiled by itself."""
_MOST_TERMS = 128
"""Of all sums of a point of a nest."""
_ALIASED = 1024
"""Bytes: rows that are multiples of it apart share a few places of a first-level cache."""
_GAP = 16
"""Elements after such rows, which keep them apart."""


@dataclass(frozen=True)
class Run:
    """The outputs `stride * j + start` of some phases of a dimension, for `j` from `first` to before `end`.

    With each phase its taps that are inside x for all of these.
    """

    first: int
    end: int
    phases: tuple[tuple[Phase, tuple[int, ...]], ...]


def _refuses(op: Operation) -> str | None:
    assert isinstance(op, ConvTransposeOp), "asked of transposed convolutions alone"
    if refused := unless_f32(op.out) or unless_one_group(op):
        return refused
    if layout_of(op.x) is not None or layout_of(op.out) is not None:
        return "expected x and the result row-major"
    runs = _runs(op, op.phases())
    if (count := math.prod(map(len, runs))) > _MOST_NESTS:
        return f"expected at most {_MOST_NESTS} nests of sums, found {count}"
    most = math.prod(
        max(sum(len(taps) for _, taps in run.phases) for run in along) for along in runs
    )
    return (
        f"expected at most {_MOST_TERMS} terms a nest, found {most}" if most > _MOST_TERMS else None
    )


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ConvTransposeOp), "another op is refused"
    for first, end in _blocks(op, builder.machine):
        rows, *inner = op.phases()
        rows = [part for phase in rows if (part := _within(phase, first, end)) is not None]
        begin, behind = _read(rows, shape_of(op.x)[2])
        columns = _multiply(op, begin, behind, builder)
        for along in product(*_runs(op, [rows, *inner])):
            _sum(op, columns, begin, along, builder)


def _blocks(op: ConvTransposeOp, machine: Machine) -> Iterator[tuple[int, int]]:
    """The first row of outputs, and the one after the last, of each block.

    The columns of a block are at most half of the second level of caches.
    """
    batch, _, *spatial = shape_of(op.x)
    count = batch * math.prod(shape_of(op.w)[1:]) * math.prod(spatial)
    blocks = -(-count * tensor_dtype(op.x).nbytes // _room(machine))
    rows, nests = shape_of(op.out)[2], math.prod(map(len, _runs(op, op.phases())))
    blocks = max(1, min(blocks, _MOST_NESTS // nests, rows))
    return pairwise(rows * at // blocks for at in range(blocks + 1))


def _room(machine: Machine) -> int:
    """Bytes of the columns of a block."""
    return machine.l2.bytes // 2


def _within(phase: Phase, first: int, end: int) -> Phase | None:
    """The outputs of a phase from `first` to before `end`; None: there are none."""
    skipped = max(0, -(-(first - phase.start) // phase.stride))
    start, shift = phase.start + skipped * phase.stride, phase.shift + skipped
    count = len(range(start, end, phase.stride))
    return replace(phase, start=start, outputs=count, shift=shift) if count else None


def _read(rows: Sequence[Phase], size: int) -> tuple[int, int]:
    """The first row of x, of `size`, that phases read, and the one after the last; a row where it is none."""
    each = [(_at(phase, tap), phase.outputs) for phase in rows for tap in range(phase.taps)]
    begin = min((max(0, at) for at, _ in each), default=0)
    behind = max((min(size, at + count) for at, count in each), default=0)
    return (begin, behind) if begin < behind else (0, 1)


def _at(phase: Phase, tap: int) -> int:
    """Which element of x a tap of output 0 reads."""
    return tap * phase.dilation + phase.shift


def _multiply(op: ConvTransposeOp, begin: int, behind: int, builder: LoopBuilder) -> SSAValue:
    """The columns of some rows of x: one product of matrices for each image."""
    dtype, x = tensor_dtype(op.out), builder.buffers[op.x]
    (batch, channels, height, *inner), (_, outputs, *window) = shape_of(op.x), shape_of(op.w)
    row, taps = math.prod(inner), outputs * math.prod(window)
    pixels, at = (behind - begin) * row, begin * row
    flat = builder.reshape(x, (batch, channels, height * row))
    if _gap(height * row):
        flat, at = _apart(flat, at, pixels, builder), 0
    size = pixels + _gap(pixels)
    c = builder.alloc(memref_of(x).element_type, (batch, taps, size))
    nest = NestBuilder()
    n, m = nest.parallel("n", batch), nest.parallel("m", taps)
    p, k = nest.parallel("p", pixels), nest.reduction("ic", channels)
    spec = nest.spec([(k, m), (n, k, p + at)], (n, m, p), multiply_add, init=0)
    w = builder.reshape(builder.buffers[op.w], (channels, taps))
    builder.nest(spec, [w, flat], [dtype, dtype], c, dtype)
    return builder.reshape(c, (batch, outputs, *window, size))


def _gap(row: int) -> int:
    """Elements after rows of so many, all in f32."""
    return 0 if 4 * row % _ALIASED else _GAP


def _apart(flat: SSAValue, first: int, pixels: int, builder: LoopBuilder) -> SSAValue:
    """A copy of some pixels of each channel, whose rows are in different places of a cache."""
    batch, channels, _ = builder.place(flat).shape
    copy = builder.alloc(memref_of(flat).element_type, (batch, channels, pixels + _gap(pixels)))
    n, c, p = (AffineExpr.dimension(at) for at in range(3))
    sizes = [("n", batch), ("ic", channels), ("p", pixels)]
    builder.map(sizes, [(flat, (n, c, p + first))], [(copy, (n, c, p))], list)
    return copy


def _runs(op: ConvTransposeOp, phases: Sequence[Sequence[Phase]]) -> list[list[Run]]:
    """Of each dimension what one nest writes: a phase, and in the last one all, which alternate in memory."""
    parts = [*([[phase] for phase in along] for along in phases[:-1]), [phases[-1]]]
    return [
        [run for some in along for run in _runs_along(some, size)]
        for along, size in zip(parts, shape_of(op.x)[2:], strict=True)
    ]


def _runs_along(phases: Sequence[Phase], size: int) -> Iterator[Run]:
    """All outputs of these phases of a dimension, of which x has `size` elements, from edge to edge."""
    most = max(phase.outputs for phase in phases)
    bounds = {0, *(phase.outputs for phase in phases)}
    for phase in phases:
        places = [_at(phase, tap) for tap in range(phase.taps)]
        bounds |= {bound for at in places for bound in (-at, size - at) if 0 < bound < most}
    for first, end in pairwise(sorted(bounds)):
        inside = [
            (phase, tuple(k for k in range(phase.taps) if 0 <= first + _at(phase, k) < size))
            for phase in phases
            if first < phase.outputs
        ]
        yield Run(first, end, tuple(inside))


def _sum(
    op: ConvTransposeOp,
    columns: SSAValue,
    begin: int,
    along: Sequence[Run],
    builder: LoopBuilder,
) -> None:
    """Outputs of some phases: the sums of their taps, in order, and the bias."""
    y, (batch, outputs) = builder.result(op.out), shape_of(op.out)[:2]
    n, oc, *j = (AffineExpr.dimension(at) for at in range(2 + len(along)))
    o = [at + run.first for at, run in zip(j, along, strict=True)]
    bias = [(builder.buffers[op.bias], (oc,))] if op.bias is not None else []
    reads, writes, counts = [], [], list[int]()
    for some in product(*(run.phases for run in along)):
        to = [at * phase.stride + phase.start for at, (phase, _) in zip(o, some, strict=True)]
        writes.append((y, (n, oc, *to)))
        taps = list(product(*(taps for _, taps in some)))
        counts.append(len(taps))
        for k in taps:
            each = list(zip(o, k, (phase for phase, _ in some), strict=True))
            w = [phase.last - tap * phase.step for _, tap, phase in each]
            row, *inner = [at + _at(phase, tap) for at, tap, phase in each]
            pixel = row - begin
            for at, size in zip(inner, shape_of(op.x)[3:], strict=True):
                pixel = pixel * size + at
            reads.append((columns, (n, oc, *w, pixel)))
    given = [*bias, *reads] or [(columns, (n, oc, *[0] * len(along), 0))]  # sums of nothing

    def body(values: Sequence[Scalar]) -> list[Scalar]:
        start = values[0] if bias else constant(0.0, values[0].dtype, values[0].block)
        terms = iter(values[len(bias) :])
        sums = [list(islice(terms, count)) for count in counts]
        return [_total(each, start, has_bias=bool(bias)) for each in sums]

    sizes = [(f"o{at}", run.end - run.first) for at, run in enumerate(along)]
    builder.map([("n", batch), ("oc", outputs), *sizes], given, writes, body)


def _total(terms: Sequence[Scalar], start: Scalar, *, has_bias: bool) -> Scalar:
    """The sum of the terms, then the bias."""
    if not terms:
        return start
    total = reduce(add, terms)
    return total + start if has_bias else total


def _bound(_op: Operation, _known: Known) -> Bound:
    return Bound(1.0, by_element=True, about="the same terms in another order")


ALGORITHM = Algorithm(
    ConvTransposeOp,
    _refuses,
    _lower,
    _bound,
    "Transposed convolutions as products of matrices, whose columns are summed (col2im)",
    layout="rows",
)
