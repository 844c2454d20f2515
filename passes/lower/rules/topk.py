"""TopK: a heap of the best elements so far, of which the worst stands at its root; O(n log k) a row.

    heap = the first k elements of the row
    for each other element: where it comes before the root, it takes the root's place
    for e = k - 1 .. 0: result[e] = the root, in whose place the heap's last element comes

An element and where it is are side by side in two arrays; what comes into the heap sinks from its place,
level by level, below what is worse. Of a row in no order, few elements come before the root of a small heap:
it is one comparison an element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.places.topk import TopKOp
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import empty_loop
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import YieldOp
from inarch.dialects.scalar import Scalar
from inarch.ir.types import i1, i64
from inarch.ir.types import memref as memref_type
from inarch.passes.lower.builder import LoopBuilder


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, TopKOp)
    shape, axis, k = shape_of(op.x), op.axis.value.data, op.k.value.data
    values, indices = builder.result(op.values), builder.result(op.indices)
    if 0 in shape_of(op.values):
        return
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    x = builder.reshape(builder.buffers[op.x], (outer, shape[axis], inner))
    values, indices = (builder.reshape(each, (outer, k, inner)) for each in (values, indices))
    code = _Code(builder, builder.block)
    with_outer = code.loop(outer, "o")
    row = with_outer.loop(inner, "i")
    heap = _Heap.made(row, memref_of(x).element_type, k, tensor_dtype(op.x), op.takes_largest())
    heap.fill(row, x, with_outer.index, row.index)
    heap.offer_all(row, x, with_outer.index, row.index, shape[axis])
    heap.drain(row, values, indices, with_outer.index, row.index)
    row.end()
    with_outer.end()


LOWERING = {TopKOp: _lower}


@dataclass
class _Code:
    """Where ops are appended: a block, and what its loop counts."""

    builder: LoopBuilder
    block: Block

    @property
    def index(self) -> SSAValue:
        """What the loop of the block counts."""
        return self.block.args[0]

    def append(self, op: Operation) -> None:
        """Appends an op."""
        op.location = self.builder.location
        self.block.add_op(op)

    def add(self, op: Operation) -> SSAValue:
        """Appends an op; its result."""
        self.append(op)
        return op.results[0]

    def loop(self, count: int, name: str) -> _Code:
        """The body of a new loop, which is to be ended."""
        loop = empty_loop(0, count)
        loop.induction.name_hint = name
        self.append(loop)
        return _Code(self.builder, loop.body.block)

    def end(self) -> None:
        """Ends the body of a loop."""
        self.append(YieldOp())

    def number(self, value: int) -> SSAValue:
        """A constant index."""
        return self.add(arith.ConstantOp.from_int_and_width(value, IndexType()))

    def load(self, buffer: SSAValue, *indices: SSAValue) -> SSAValue:
        """An element."""
        return self.add(memref.LoadOp.get(buffer, list(indices)))

    def store(self, value: SSAValue, buffer: SSAValue, *indices: SSAValue) -> None:
        """Writes an element."""
        self.append(memref.StoreOp.get(value, buffer, list(indices)))

    def plus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The sum of indices."""
        return self.add(arith.AddiOp(a, b))

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether an index is below another one."""
        return self.add(arith.CmpiOp(a, b, "slt"))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """Either of two values."""
        return self.add(arith.SelectOp(condition, a, b))

    def branch(self) -> _Code:
        """A block that is to be one of an `scf.if`."""
        return _Code(self.builder, Block())

    def choose(
        self,
        condition: SSAValue,
        then: _Code,
        otherwise: _Code | None,
        types: Sequence[Attribute] = (),
    ) -> SSAValue | None:
        """An `scf.if` of the two; what the branches yield, if they do."""
        last = None if otherwise is None else Region(otherwise.block)
        op = scf.IfOp(condition, list(types), Region(then.block), last)
        self.append(op)
        return op.results[0] if types else None

    def yields(self, *values: SSAValue) -> None:
        """Ends a branch."""
        self.append(scf.YieldOp(*values))


@dataclass
class _Pair:
    """An element, and where in its row it is."""

    value: SSAValue
    place: SSAValue


@dataclass
class _Heap:
    """A heap of k elements of a dtype: none comes before those that stand below it."""

    values: SSAValue
    places: SSAValue
    cursor: SSAValue
    """Where what sinks stands; k, when it has its place."""
    k: int
    dtype: DType
    largest: bool

    @classmethod
    def made(cls, code: _Code, element: Attribute, k: int, dtype: DType, largest: bool) -> _Heap:
        """A new one in scratch memory, empty."""

        def scratch(kind: Attribute, size: int, hint: str) -> SSAValue:
            buffer = code.add(AllocOp(memref_type(kind, (size,))))
            buffer.name_hint = hint
            return buffer

        values, places = scratch(element, k, "heap"), scratch(i64, k, "places")
        return cls(values, places, scratch(i64, 1, "cursor"), k, dtype, largest)

    # -- in the order of the results

    def before(self, code: _Code, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether element a comes before b, wherever they are."""
        return self._compare(code, a, b)[0].value

    def precedes(self, code: _Code, a: _Pair, b: _Pair) -> SSAValue:
        """Whether a comes before b: of equal elements, the one that is first in the row."""
        better, same = self._compare(code, a.value, b.value)
        place, other = (Scalar(each, DTYPES["i64"], code.block) for each in (a.place, b.place))
        return (better | (same & place.less(other))).value

    def _compare(self, code: _Code, a: SSAValue, b: SSAValue) -> tuple[Scalar, Scalar]:
        """Whether it does, and whether the two are equal. NaN is larger than every number."""
        x, y = (Scalar(each, self.dtype, code.block) for each in (a, b))
        better = x.greater(y) if self.largest else x.less(y)
        same = x.equal(y)
        if self.dtype.is_float:
            large, small = (x, y) if self.largest else (y, x)
            better = better | (large.not_equal(large) & small.equal(small))
            same = same | (x.not_equal(x) & y.not_equal(y))
        return better, same

    # -- what happens to it

    def fill(self, row: _Code, x: SSAValue, outer: SSAValue, inner: SSAValue) -> None:
        """The first k elements of the row, put in a heap's order from the last that has any below it."""
        first = row.loop(self.k, "j")
        first.store(first.load(x, outer, first.index, inner), self.values, first.index)
        first.store(first.add(arith.IndexCastOp(first.index, i64)), self.places, first.index)
        first.end()
        if self.k < 2:
            return
        inside = row.loop(self.k // 2, "j")
        at = inside.add(arith.SubiOp(inside.number(self.k // 2 - 1), inside.index))
        self.sink(inside, self.get(inside, at), at, inside.number(self.k))
        inside.end()

    def offer_all(
        self, row: _Code, x: SSAValue, outer: SSAValue, inner: SSAValue, count: int
    ) -> None:
        """The other elements of the row, each of which is behind all equal ones."""
        if count == self.k:
            return
        turn = row.loop(count - self.k, "n")
        at = turn.plus(turn.index, turn.number(self.k))
        found = turn.load(x, outer, at, inner)
        root = turn.load(self.values, turn.number(0))
        if not self.dtype.is_float:
            self._offer(turn, found, root, at)
            turn.end()
            return
        near = turn.branch()  # one comparison for most elements; what may be NaN is looked at again
        self._offer(near, found, root, at)
        near.yields()
        turn.choose(
            turn.add(arith.CmpfOp(found, root, "ugt" if self.largest else "ult")), near, None
        )
        turn.end()

    def _offer(self, code: _Code, found: SSAValue, root: SSAValue, at: SSAValue) -> None:
        """Takes the element at `at` of the row in the place of the root, where it comes before that."""
        then = code.branch()
        pair = _Pair(found, then.add(arith.IndexCastOp(at, i64)))
        self.sink(then, pair, then.number(0), then.number(self.k))
        then.yields()
        code.choose(self.before(code, found, root), then, None)

    def drain(
        self, row: _Code, values: SSAValue, indices: SSAValue, outer: SSAValue, inner: SSAValue
    ) -> None:
        """The heap's elements to the results, the worst to the last place first."""
        turn = row.loop(self.k, "j")
        last = turn.add(arith.SubiOp(turn.number(self.k - 1), turn.index))
        worst = self.get(turn, turn.number(0))
        turn.store(worst.value, values, outer, last, inner)
        turn.store(worst.place, indices, outer, last, inner)
        if self.k > 1:
            self.sink(turn, self.get(turn, last), turn.number(0), last)
        turn.end()

    def get(self, code: _Code, at: SSAValue) -> _Pair:
        """The element at a place of the heap."""
        return _Pair(code.load(self.values, at), code.load(self.places, at))

    def put(self, code: _Code, pair: _Pair, at: SSAValue) -> None:
        """Writes it there."""
        code.store(pair.value, self.values, at)
        code.store(pair.place, self.places, at)

    def sink(self, code: _Code, pair: _Pair, start: SSAValue, size: SSAValue) -> None:
        """Puts `pair` at `start` of a heap of `size` elements, or below what comes behind it there.

        A level a turn; there are as many as a heap of k has, and one in which it gets its place.
        """
        zero = code.number(0)
        code.store(code.add(arith.IndexCastOp(start, i64)), self.cursor, zero)
        turn = code.loop(self.k.bit_length(), "level")
        origin = turn.number(0)
        at = turn.add(arith.IndexCastOp(turn.load(self.cursor, origin), IndexType()))
        sinks = turn.branch()
        one = sinks.number(1)
        child = sinks.plus(sinks.plus(at, at), one)
        has, none = sinks.branch(), sinks.branch()
        self._move_up(has, pair, at, child, size, origin)
        none.yields(none.add(arith.ConstantOp.from_int_and_width(1, i1)))
        ends = sinks.choose(sinks.less(child, size), has, none, [i1])
        assert ends is not None
        stays = sinks.branch()
        self.put(stays, pair, at)
        end = stays.add(arith.ConstantOp.from_int_and_width(self.k, i64))
        stays.store(end, self.cursor, origin)
        stays.yields()
        sinks.choose(ends, stays, None)
        sinks.yields()
        turn.choose(turn.less(at, turn.number(self.k)), sinks, None)
        turn.end()

    def _move_up(
        self,
        code: _Code,
        pair: _Pair,
        at: SSAValue,
        child: SSAValue,
        size: SSAValue,
        origin: SSAValue,
    ) -> None:
        """Moves the worse child of `at` up where it comes behind `pair`; yields whether none does."""
        right = code.plus(child, code.number(1))
        other = code.select(code.less(right, size), right, child)
        a, b = self.get(code, child), self.get(code, other)
        second = self.precedes(code, a, b)
        worse = _Pair(code.select(second, b.value, a.value), code.select(second, b.place, a.place))
        place = code.select(second, other, child)
        moves = self.precedes(code, pair, worse)
        then = code.branch()
        self.put(then, worse, at)
        then.store(then.add(arith.IndexCastOp(place, i64)), self.cursor, origin)
        then.yields()
        code.choose(moves, then, None)
        yes = code.add(arith.ConstantOp.from_int_and_width(1, i1))
        code.yields(code.add(arith.XOrIOp(moves, yes)))
