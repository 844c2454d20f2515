"""How many chains run side by side: the parallel iterators that go inside of a scan, or of a reduction.

A step of a chain waits for the one before; steps of different chains do not wait for each other. Two forms,
by what is contiguous in memory:

    along the scan: y[i, k] += x[i, k]      a few rows, their accumulators in registers
        for i, k                       -->      for i in 16: for k: for i_4 in 4
    across it: y[k, j] += x[k, j]           a strip of columns, its accumulators in the first-level cache
        for j, k                       -->      for j in 64: for k: for j_4096 in 4096

What a strip does not divide is a nest of its own. Nothing is reordered along the scan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir.affine import AffineExpr

from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import replace_op
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.passes.loop.nests.arg_reduce import match_arg_reduction
from inarch.passes.loop.nests.transform import read_strides, rebuild, strides_along


@dataclass(frozen=True)
class _Chains:
    """An iterator of which `count` neighbouring points go inside the scan."""

    position: int
    count: int


def put_chains_inside(nest: NestOp, machine: Machine, most: int) -> None:
    """Replaces a nest that scans by one, or two, with at most `most` accumulators an output inside the scan.

    One that reduces gets strips of columns only, as many at least as the machine has cores. A nest in which
    an iterator has a mode is its author's, and stays; so does one whose chains have a single point.
    """
    carried = [each for each in nest.iterators if each.is_reduction or each.is_scan]
    if all(each.size.data == 1 for each in carried):
        return
    if 0 in nest.sizes or any(iterator.mode.data != "serial" for iterator in nest.iterators):
        return
    inside = _Choice(nest, machine, most).inside()
    if not inside:
        return
    last = inside[-1]
    size = nest.sizes[last.position]
    whole = size // last.count * last.count
    pieces = [_piece(nest, inside, 0, whole, machine)]
    if whole < size:
        rest = [*inside[:-1], _Chains(last.position, size - whole)]
        pieces.append(_piece(nest, rest, whole, size, machine))
    replace_op(nest, *pieces)


class _Choice:
    """Which iterators of a nest go inside its scan, and how many points of them."""

    def __init__(self, nest: NestOp, machine: Machine, most: int) -> None:
        self.nest, self.machine = nest, machine
        reads = [read_strides(nest, at) for at in range(len(nest.ins))]
        writes = [strides_along(nest, v, nest.write_map(at)) for at, v in enumerate(nest.outs)]
        self.strides = [[stride or 0 for stride in strides] for strides in (*reads, *writes)]
        """By access, then by iterator; the outputs' last. Of what moves anywhere, 0."""
        self.nbytes = [dtype_of(memref_of(v).element_type).nbytes for v in (*nest.ins, *nest.outs)]
        self.strip = min(most, self._most_columns())

    def _most_columns(self) -> int:
        """Of a strip: half the first-level cache, as what is read and written passes through the other half.

        Of an arg-reduction all of it, as candidates are loaded and stored once for several rows; its places
        are as wide as its values. A reduction gets a strip a core, but of a page at least: narrower pieces
        of rows cost a page each, of its translation and of what is read ahead.
        """
        nest, machine = self.nest, self.machine
        written = self.nbytes[len(nest.ins) :]
        if not nest.has_reduction:
            return max(machine.l1.bytes // 2 // sum(written), 1)
        is_search = match_arg_reduction(nest) is not None
        room = machine.l1.bytes // (2 * sum(written) if not is_search else 2 * max(written[0], 4))
        parallel = [i for i, each in enumerate(nest.iterators) if not each.is_reduction]
        each = math.ceil(math.prod(nest.sizes[i] for i in parallel) / machine.cores)
        return max(min(room, max(each, machine.tlb.page_bytes // min(self.nbytes))), 1)

    def inside(self) -> list[_Chains]:
        """Those along which memory is contiguous first; each runs on where the one before ends."""
        nest = self.nest
        carried = [i for i, each in enumerate(nest.iterators) if each.is_scan or each.is_reduction]
        order = [i for i, size in enumerate(nest.sizes) if size > 1 and i not in carried]
        order.sort(key=lambda i: (-self._contiguous(i), abs(self.strides[-1][i])))
        along = max(map(self._contiguous, carried))
        is_strip = bool(order) and self._contiguous(order[0]) > along
        if nest.has_reduction and not (is_strip and self._follows(order[0])):
            return []
        found: list[_Chains] = []
        count = 1
        for before, position in zip([None, *order], order, strict=False):
            if before is not None and is_strip and not self._runs_on(position, before):
                is_strip = False
            if nest.has_reduction and not is_strip:
                break
            room = (self.strip if is_strip else self._rows(position)) // count
            if room < 2:
                break
            size = nest.sizes[position]
            taken = self._share(position, room)
            found.append(_Chains(position, taken))
            count *= taken
            if taken < size:
                break
        return found

    def _contiguous(self, position: int) -> int:
        """How many accesses move by one element along an iterator."""
        return sum(abs(strides[position]) == 1 for strides in self.strides)

    def _follows(self, position: int) -> bool:
        """Whether an operand is read contiguously along an iterator."""
        return any(abs(strides[position]) == 1 for strides in self.strides[: len(self.nest.ins)])

    def _runs_on(self, outer: int, inner: int) -> bool:
        """Whether every access that moves along `inner` moves on along `outer`."""
        size = self.nest.sizes[inner]
        return all(strides[outer] == strides[inner] * size for strides in self.strides)

    def _rows(self, position: int) -> int:
        """Chains such that none waits: each step stores, and the next one of its chain may begin a sum later.

        Rows that are a power of two apart are in one set of the cache: then no more than it has lines for.
        """
        machine = self.machine
        stored = self.nbytes[-1]
        rows = math.ceil(machine.fma_latency * machine.stores.of(stored))
        moving = [
            abs(strides[position]) * nbytes
            for strides, nbytes in zip(self.strides, self.nbytes, strict=True)
            if strides[position]
        ]
        while rows > 1 and any(machine.crowds(rows * len(moving), step) for step in moving):
            rows -= 1
        return rows

    def _share(self, position: int, room: int) -> int:
        """How many points of an iterator go inside where there is `room`: as many in each piece.

        Where one is left over, of an iterator along which memory is contiguous whole cache lines.
        """
        size = self.nest.sizes[position]
        if size <= room:
            return size
        share = math.ceil(size / math.ceil(size / room))
        line = max(self.machine.line_bytes // self.nbytes[-1], 1)
        if size % share == 0 or share < line or not self._contiguous(position):
            return share
        return min(math.ceil(share / line) * line, room)


def _piece(nest: NestOp, inside: list[_Chains], begin: int, end: int, machine: Machine) -> NestOp:
    """The points `begin` to `end` of the last iterator of `inside`, in groups of its count."""
    counts = {each.position: each.count for each in inside}
    last = inside[-1].position
    is_few = math.prod(counts.values()) <= math.ceil(machine.fma_latency)
    is_unrolled = is_few and not nest.has_reduction
    mode = "unroll" if is_unrolled else "serial"
    names = set(nest.names)
    outer: list[IteratorAttr] = []
    inner: dict[int, IteratorAttr] = {}
    carried: dict[int, IteratorAttr] = {}
    place: dict[int, int] = {}
    for position, iterator in enumerate(nest.iterators):
        label, size = iterator.label.data, iterator.size.data
        if iterator.is_scan or iterator.is_reduction:
            carried[position] = iterator
            continue
        groups = size
        if position in counts:
            groups = (end - begin if position == last else size) // counts[position]
            inner[position] = IteratorAttr.get(
                label if groups == 1 else fresh_label(f"{label}_{counts[position]}", names),
                counts[position],
                mode=mode,
            )
        if position not in counts or groups > 1:
            place[position] = len(outer)
            outer.append(IteratorAttr.get(label, groups))
    order = [each.position for each in reversed(inside)]
    depth = {position: len(outer) + len(carried) + at for at, position in enumerate(order)}
    middle = {position: len(outer) + at for at, position in enumerate(carried)}
    substitution: list[AffineExpr] = []
    for position in range(len(nest.iterators)):
        if position in middle:
            substitution.append(AffineExpr.dimension(middle[position]))
            continue
        terms = AffineExpr.constant(begin if position == last else 0)
        if position in place:
            terms = AffineExpr.dimension(place[position]) * counts.get(position, 1) + terms
        if position in depth:
            terms = AffineExpr.dimension(depth[position]) + terms
        substitution.append(terms)
    iterators = [*outer, *carried.values(), *(inner[position] for position in order)]
    return rebuild(nest, iterators, substitution)


def fresh_label(name: str, names: set[str]) -> str:
    """A name that is not among `names`, to which it is added."""
    while name in names:
        name += "_"
    names.add(name)
    return name
