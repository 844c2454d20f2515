"""The best k of a row by a heap of the best so far, of which the worst stands at its root; O(n log k).

    heap = the first k elements of the row
    for each other element: where it comes before the root, it takes the root's place
    for e = k - 1 .. 0: result[e] = the root, in whose place the heap's last element comes

The key of an element and where it is are side by side in two arrays; what comes into the heap sinks from
the root, below what is worse. Of a row in no order, few elements come before the root of a small heap:
the best eight of each block of elements, each of every eighth one, are found first, by vectors, and where
none of them does, none of the block does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from inarch.core.dtypes import DType
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Scalar
from inarch.ir.types import i1, i64
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.ordering.code import Code
from inarch.passes.lower.ordering.keys import Keys

LANES = 8
"""Elements of a block that are the best of others in it; of f32, those of a vector of AVX."""
BLOCK = 8 * LANES
_FEWEST = 4
"""Blocks for which that is worth it."""


def select(
    builder: LoopBuilder,
    x: SSAValue,
    values: SSAValue,
    indices: SSAValue,
    dtype: DType,
    largest: bool,
) -> None:
    """The first k elements of each row of `x` (rows, n), in order, to `values` and `indices` (rows, k)."""
    rows, count = buffer_shape(x)
    k, of = buffer_shape(values)[1], Keys(dtype, largest)
    blocks: _Blocks | None = None
    if rows == 1:  # threads may share what is outside of the loop
        blocks = _Blocks.found(builder, builder.reshape(x, (count,)), k, of)
    row = Code(builder, builder.block).loop(rows, "row")
    x, values, indices = row.row(x), row.row(values), row.row(indices)
    if rows > 1:  # what is looked at again is near
        blocks = _Blocks.found(row.nests(), x, k, of)
    heap = _Heap.made(row, x, k, of)
    heap.fill(row)
    if blocks is None:
        heap.offer(row, k, count)
    else:
        heap.offer(row, k, blocks.first * BLOCK)
        heap.offer_blocks(row, blocks)
        heap.offer(row, blocks.last * BLOCK, count)
    heap.drain(row, values, indices)
    row.end()


@dataclass(frozen=True)
class _Blocks:
    """The best eight of each block of a row, from a block on; one is NaN where an element of its is."""

    best: SSAValue
    first: int
    last: int

    @classmethod
    def found(cls, builder: LoopBuilder, x: SSAValue, k: int, of: Keys) -> _Blocks | None:
        """Those behind the first k elements; None where they are too few."""
        (count,) = buffer_shape(x)
        first, last = -(-k // BLOCK), count // BLOCK
        if last - first < _FEWEST:
            return None
        best = builder.alloc(memref_of(x).element_type, (last - first, LANES))
        nest = NestBuilder()
        block = nest.parallel("block", last - first)
        j, lane = nest.reduction("j", BLOCK // LANES), nest.parallel("lane", LANES)
        at = block * BLOCK + j * LANES + lane + first * BLOCK

        def step(element: Scalar, found: Scalar) -> Scalar:
            return found.maximum(element) if of.largest else found.minimum(element)

        start = of.dtype.least if of.largest else of.dtype.greatest
        spec = nest.spec([(at,)], (block, lane), step, init=start)
        builder.nest(spec, [x], [of.dtype], best, of.dtype)
        return cls(best, first, last)


@dataclass
class _Pair:
    """The key of an element, and where in its row it is."""

    key: SSAValue
    place: SSAValue


@dataclass
class _Heap:
    """A heap of k elements: none comes before those that stand below it."""

    x: SSAValue
    """The row."""
    of: Keys
    keys: SSAValue
    places: SSAValue
    cursor: SSAValue
    """Where what sinks stands."""
    rises: SSAValue
    """Whether it may go up again."""
    worst: SSAValue
    """The element at the root."""
    k: int

    @classmethod
    def made(cls, code: Code, x: SSAValue, k: int, of: Keys) -> _Heap:
        """A new one in scratch memory, empty."""
        keys, places = code.scratch(of.type, (k,), "keys"), code.scratch(i64, (k,), "places")
        cursor, rises = code.scratch(i64, (1,), "cursor"), code.scratch(i1, (), "rises")
        worst = code.scratch(memref_of(x).element_type, (1,), "worst")
        return cls(x, of, keys, places, cursor, rises, worst, k)

    def fill(self, row: Code) -> None:
        """The first k elements of the row, put in a heap's order from the last that has any below it."""
        first = row.loop(self.k, "j")
        first.store(self.of.key(first, first.load(self.x, first.index)), self.keys, first.index)
        first.store(first.place(first.index), self.places, first.index)
        first.end()
        if self.k > 1:
            inside = row.loop(self.k // 2, "j")
            at = inside.minus(inside.number(self.k // 2 - 1), inside.index)
            self.sink(inside, self.get(inside, at), at, inside.number(self.k))
            inside.end()
        self._look(row)

    def offer(self, row: Code, begin: int, end: int) -> None:
        """The elements from `begin` to `end` of the row, each of which is behind all that were before."""
        if begin >= end:
            return
        iteration = row.loop(end - begin, "n")
        self._offer(iteration, iteration.plus(iteration.index, iteration.number(begin)))
        iteration.end()

    def offer_blocks(self, row: Code, blocks: _Blocks) -> None:
        """Of each block the elements whose best one may come before the root as it is at the block's begin.

        Those come lane by lane, not in their order, and of equal ones the first counts.
        """
        iteration = row.loop(blocks.last - blocks.first, "block")
        worst = iteration.load(self.worst, iteration.number(0))

        def may(code: Code, lane: SSAValue) -> SSAValue:
            best = code.load(blocks.best, iteration.index, lane)
            return self.of.may_precede(code, best, worst)

        inside = iteration.branch()
        lane = inside.loop(LANES, "lane")
        own = lane.branch()
        element = own.loop(BLOCK // LANES, "j")
        begin = element.times(
            element.plus(iteration.index, element.number(blocks.first)), element.number(BLOCK)
        )
        at = element.plus(element.times(element.index, element.number(LANES)), lane.index)
        self._offer(element, element.plus(begin, at))
        element.end()
        own.yields()
        lane.choose(may(lane, lane.index), own, None)
        lane.end()
        inside.yields()
        each = [may(iteration, iteration.number(n)) for n in range(LANES)]
        iteration.choose(reduce(lambda a, b: iteration.add(arith.OrIOp(a, b)), each), inside, None)
        iteration.end()

    def _offer(self, code: Code, at: SSAValue) -> None:
        """Takes the element at `at` of the row in the place of the root, where it comes before that."""
        found, worst = code.load(self.x, at), code.load(self.worst, code.number(0))
        near, then = code.branch(), code.branch()
        pair = _Pair(self.of.key(near, found), near.place(at))
        self.sink(then, pair, then.number(0), then.number(self.k))
        self._look(then)
        then.yields()
        near.choose(self.precedes(near, pair, self.get(near, near.number(0))), then, None)
        near.yields()
        code.choose(self.of.may_precede(code, found, worst, or_equal=True), near, None)

    def _look(self, code: Code) -> None:
        """Notes the element at the root."""
        place = code.add(arith.IndexCastOp(code.load(self.places, code.number(0)), IndexType()))
        code.store(code.load(self.x, place), self.worst, code.number(0))

    def drain(self, row: Code, values: SSAValue, indices: SSAValue) -> None:
        """The heap's elements to the results, the worst to the last place first."""
        iteration = row.loop(self.k, "j")
        last = iteration.minus(iteration.number(self.k - 1), iteration.index)
        place = iteration.load(self.places, iteration.number(0))
        at = iteration.add(arith.IndexCastOp(place, IndexType()))
        iteration.store(iteration.load(self.x, at), values, last)
        iteration.store(place, indices, last)
        if self.k > 1:
            self.sink(iteration, self.get(iteration, last), iteration.number(0), last)
        iteration.end()

    def get(self, code: Code, at: SSAValue) -> _Pair:
        """The element at a place of the heap."""
        return _Pair(code.load(self.keys, at), code.load(self.places, at))

    def put(self, code: Code, pair: _Pair, at: SSAValue) -> None:
        """Writes it there."""
        code.store(pair.key, self.keys, at)
        code.store(pair.place, self.places, at)

    def precedes(self, code: Code, a: _Pair, b: _Pair) -> SSAValue:
        """Whether a comes before b: of equal elements, the one that is first in the row."""
        same = code.add(arith.CmpiOp(a.key, b.key, "eq"))
        first = code.add(arith.AndIOp(same, code.less(a.place, b.place)))
        return code.add(arith.OrIOp(self.of.less(code, a.key, b.key), first))

    def sink(self, code: Code, pair: _Pair, start: SSAValue, size: SSAValue) -> None:
        """Puts `pair` in the place of what is at `start` of a heap of `size` elements, or below that.

        The worse child of each place moves up, down to the last level, and `pair` goes up from there to where
        it belongs: that is seldom far, and which child is the worse is no branch that is to be foreseen.
        """
        zero = code.number(0)
        code.store(code.place(start), self.cursor, zero)
        levels = code.loop(max(self.k.bit_length() - 1, 1), "level")
        self._down(levels, size)
        levels.end()
        code.store(code.true(), self.rises)
        levels = code.repeat(code.number(self.k.bit_length()), self.rises, "level")
        self._up(levels, pair, start)
        levels.end()
        self.put(code, pair, self._at(code))

    def _at(self, code: Code) -> SSAValue:
        return code.add(arith.IndexCastOp(code.load(self.cursor, code.number(0)), IndexType()))

    def _down(self, code: Code, size: SSAValue) -> None:
        """Moves the worse child of the cursor's place there, if it has any."""
        at, one = self._at(code), code.number(1)
        child = code.plus(code.plus(at, at), one)
        has = code.branch()
        right = has.plus(child, one)
        other = has.select(has.less(right, size), right, child)
        a, b = self.get(has, child), self.get(has, other)
        second = self.precedes(has, a, b)
        self.put(
            has,
            _Pair(has.select(second, b.key, a.key), has.select(second, b.place, a.place)),
            at,
        )
        has.store(has.place(has.select(second, other, child)), self.cursor, has.number(0))
        has.yields()
        code.choose(code.less(child, size), has, None)

    def _up(self, code: Code, pair: _Pair, start: SSAValue) -> None:
        """Moves what is above the cursor's place down to it, where it comes before `pair`."""
        at, one = self._at(code), code.number(1)
        below, stays = code.branch(), code.branch()
        parent = below.add(arith.ShRUIOp(below.minus(at, one), one))
        above = self.get(below, parent)
        moves, ends = below.branch(), below.branch()
        self.put(moves, above, at)
        moves.store(moves.place(parent), self.cursor, moves.number(0))
        moves.yields()
        for end in (ends, stays):
            end.store(end.false(), self.rises)
            end.yields()
        below.choose(self.precedes(below, above, pair), moves, ends)
        below.yields()
        code.choose(code.less(start, at), below, stays)
