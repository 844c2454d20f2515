"""Along which of its iterators an elementwise nest runs: where it and what it reads are vectors.

    for j, i: y[j, i] = f(x[i, j])     -->     for j by 16, i: for 16 of j: y[j, i] = f(x[i, j])

C compilers make scalars of a loop that reads across its rows. One that only writes across them computes
vectors and stores single elements; so the loop goes along what is read, if there is much to compute. It is
cut in strips: of the lines that it writes to each is filled before the next ones are needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir.affine import AffineExpr

from inarch.core.scalars.functions import LIBRARY, operations
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.rounding import applied_in
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.passes.loop.nests.chains import fresh_label
from inarch.passes.loop.nests.edge import is_elementwise
from inarch.passes.loop.nests.transform import replace_iterators, strides_along

_STRIP = 64
"""Points of a strip, at most: so many lines are written to."""
_SINGLE = 1.0
"""Operations of loading or storing one element that is no neighbour of the one before."""


@dataclass(frozen=True)
class Along:
    """What a nest does with each iterator innermost."""

    work: int
    """Operations of one point."""
    lanes: int
    nbytes: int
    """Of an element, of the largest ones."""
    sizes: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]
    """The strides of each operand that is read, by iterator."""
    write: tuple[int, ...]

    def cost(self, at: int) -> float:
        """Operations a point, with an iterator innermost: as vectors where nothing is read across it."""
        every = [*(read[at] for read in self.reads), self.write[at]]
        across = sum(abs(stride) > 1 for stride in every)
        is_vector = self.sizes[at] >= self.lanes and not any(
            _is_far(read[at]) for read in self.reads
        )
        return self.work / (self.lanes if is_vector else 1) + _SINGLE * across

    def rows(self, at: int) -> int | None:
        """The iterator along which lies what an iterator goes across: outside of it, it fills the lines."""
        across = [strides for strides in (*self.reads, self.write) if abs(strides[at]) > 1]
        along = [
            i
            for i, size in enumerate(self.sizes)
            if size > 1 and any(abs(s[i]) == 1 for s in across)
        ]
        return max(along, key=lambda i: self.sizes[i], default=None)

    def strip(self, at: int, machine: Machine) -> int:
        """Points of an iterator after which the next row begins: vectors, whose lines a cache holds."""
        size = self.sizes[at]
        whole = [n for n in range(self.lanes, min(size, _STRIP) + 1, self.lanes) if size % n == 0]
        steps = {abs(strides[at]) * self.nbytes for strides in (*self.reads, self.write)}
        held = [n for n in whole if not any(machine.crowds(n, step) for step in steps if step)]
        return max(held, default=min(whole, default=size))


def _is_far(stride: int) -> bool:
    """Whether gcc makes scalars of a loop that reads so; other strides it loads one by one into vectors."""
    by = abs(stride)
    return by > 1 and by & (by - 1) == 0


def along_of(nest: NestOp, target: Target) -> Along | None:
    """What there is to choose for a nest: elementwise, of what is read where it is said, in no mode yet."""
    if not is_elementwise(nest) or is_indirect(nest) or nest.writes.data[0].clips:
        return None
    if any(read.is_padded for read in nest.reads):
        return None
    if any(iterator.mode.data != "serial" for iterator in nest.iterators):
        return None
    work = [operations(name) for name in applied_in(nest.body.block)]
    if not work or max(work) >= LIBRARY:
        return None  # copies have blocks of their own; what has no vector form gains nothing
    widest = max(dtype_of(memref_of(value).element_type).nbytes for value in nest.operands)
    return Along(
        max(1, sum(work)),
        max(1, target.vector_bytes // widest),
        widest,
        tuple(nest.sizes),
        tuple(
            tuple(strides_along(nest, value, nest.read_map(i))) for i, value in enumerate(nest.ins)
        ),
        tuple(strides_along(nest, nest.outs[0], nest.write_map(0))),
    )


def run_along(nest: NestOp, target: Target, machine: Machine) -> None:
    """Puts the iterator innermost with which a nest takes least; the last one, where none takes less."""
    found = along_of(nest, target)
    if found is None or 0 in found.sizes:
        return
    places = [at for at, size in enumerate(found.sizes) if size > 1]
    if len(places) < 2:
        return
    last = places[-1]
    best = min(reversed(places), key=found.cost)
    rows = found.rows(best)
    if found.cost(best) >= found.cost(last) or rows is None or rows == best:
        return
    _put_inside(nest, best, rows, found.strip(best, machine))


def _put_inside(nest: NestOp, best: int, rows: int, count: int) -> None:
    """The order `..., strips of best, rows, best`, with `count` points in a strip."""
    old = list(nest.iterators)
    size = old[best].size.data
    others = [at for at in range(len(old)) if at not in (best, rows)]
    iterators = [old[at] for at in others]
    is_cut = size > count
    label = old[best].label.data
    if is_cut:
        iterators.append(IteratorAttr.get(label, size // count))
        label = fresh_label(f"{label}_{count}", {each.label.data for each in old})
    iterators += [old[rows], IteratorAttr.get(label, count)]
    places = {at: AffineExpr.dimension(i) for i, at in enumerate(others)}
    places[rows] = AffineExpr.dimension(len(iterators) - 2)
    places[best] = AffineExpr.dimension(len(iterators) - 1)
    if is_cut:
        places[best] = AffineExpr.dimension(len(others)) * count + places[best]
    replace_iterators(nest, iterators, [places[at] for at in range(len(old))])
