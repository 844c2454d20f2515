"""A softmax and its products with parts of the keys at a time: a running maximum, sum and result.

    M = lowest, L = 0, O = 0
    for each block of keys:  S = Q K               B = max(S)
                             C = exp(M - max(M, B))
                             M = max(M, B)
                             W = exp(S - M)        l = sum(W)     L = L C + l
                                                   o = W V        O = O C + o
    Y = O / L

M begins with the lowest finite number, and so does each B: a block whose scores are all -inf has weights
`exp(-inf - lowest) = 0`, where `-inf - -inf` would be no number. A row of which that is true of all blocks
ends with L = 0, and is no number, as it is by definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, FloatAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.core.lazy import np
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.types import dtype_of, memref
from inarch.passes.loop.nests.operands import end, inline
from inarch.passes.loop.tiling.group import Group
from inarch.passes.loop.tiling.keys import Keys


@dataclass(frozen=True)
class Steps:
    """A group in three parts: what runs before the loop over the keys, in it, and behind it."""

    group: Group
    """All of its nests: those before, those in the loop, those behind."""
    iterators: tuple[int | None, ...]
    """Of each nest, that over the keys; none of those before and behind have one that is meant."""
    first: int
    """How many nests are before."""
    each: int
    """How many are in the loop."""


def steps_of(group: Group, keys: Keys) -> Steps:
    """The group with nests for blocks of its keys in the place of its own; they stand before its last one."""
    return _Writer(group, keys).steps()


_Row = tuple[int, ...]
"""Of a nest, the iterator of each class."""
_Made = tuple[NestOp, _Row, int | None]
"""A nest, its classes' iterators, and that over the keys."""


class _Writer:
    def __init__(self, group: Group, keys: Keys) -> None:
        self.group, self.keys = group, keys
        self.builder = Builder(InsertPoint.before(group.nests[-1]))
        self.location = group.nests[keys.weights].location
        weights = group.nests[keys.weights]
        kind = memref_of(weights.outs[0]).element_type
        assert isinstance(kind, AnyFloat), "its weights are powers"
        self.type = kind
        self.lowest = float(np.finfo(dtype_of(self.type).numpy).min)
        rows = len(group.sizes)
        self.rows = tuple(Linear.iterator(at, rows) for at in range(rows))
        """The indices of a buffer with an element a row, over the classes."""

    def steps(self) -> Steps:
        group, keys = self.group, self.keys
        self.largest, self.total, self.factor = (self._row_buffer(name) for name in "MLC")
        before: list[_Made] = [
            self._filled(self.largest, self.lowest),
            self._filled(self.total, 0.0),
        ]
        each: list[_Made] = []
        behind: list[_Made] = []
        for position, nest in enumerate(group.nests):
            row = tuple(classes[position] for classes in group.classes)
            at = keys.iterators[position]
            if position in keys.behind:
                behind.append((nest, row, None))
            elif position == keys.maximum:
                each += [(self._from_lowest(nest), row, at), *self._joined_maximum(nest, row)]
            elif position == keys.weights:
                each.append((self._weights(nest, row), row, at))
            elif position == keys.total:
                each += self._summed(nest, row, at)
                behind.append(self._finished(nest, row, self.total, None))
            elif position in keys.products:
                start, some, last = self._multiplied(nest, row, at)
                before.append(start)
                each += some
                behind.append(last)
            elif at is None:
                before.append((nest, row, None))
            else:
                each.append((nest, row, at))
        made = [*before, *each, *behind]
        kept = {nest for nest, _, _ in made}
        for nest in group.nests:
            if nest not in kept:
                erase(nest)
        classes = tuple(zip(*(row for _, row, _ in made), strict=True))
        whole = Group.of([nest for nest, _, _ in made], classes)
        return Steps(whole, tuple(at for _, _, at in made), len(before), len(each))

    # -- buffers and nests

    def _buffer(self, shape: Sequence[int], name: str | None) -> SSAValue:
        op = AllocOp(memref(self.type, shape))
        op.location = self.location
        op.buffer.name_hint = name
        self.builder.insert(op)
        return op.buffer

    def _row_buffer(self, name: str) -> SSAValue:
        return self._buffer(self.group.sizes, name)

    def _nest(
        self,
        sizes: Sequence[int],
        ins: Sequence[tuple[SSAValue, Sequence[Linear]]],
        out: tuple[SSAValue, Sequence[Linear]],
        body: Callable[[Block, Sequence[SSAValue]], SSAValue],
    ) -> NestOp:
        """An elementwise nest; `body` is given the elements, last that which is there."""
        types: list[Attribute] = [memref_of(value).element_type for value, _ in (*ins, out)]
        block = Block(arg_types=types)
        end(block, [body(block, block.args)])
        nest = NestOp(
            [IteratorAttr.get(f"i{at}", size) for at, size in enumerate(sizes)],
            [value for value, _ in ins],
            [ReadAttr.get(affine_map(index, len(sizes))) for _, index in ins],
            [out[0]],
            [WriteAttr.get(affine_map(out[1], len(sizes)))],
            Region(block),
        )
        nest.location = self.location
        self.builder.insert(nest)
        return nest

    def _row_nest(
        self,
        ins: Sequence[tuple[SSAValue, Sequence[Linear]]],
        out: SSAValue,
        body: Callable[[Block, Sequence[SSAValue]], SSAValue],
    ) -> _Made:
        nest = self._nest(self.group.sizes, ins, (out, self.rows), body)
        return nest, tuple(range(len(self.rows))), None

    def _filled(self, buffer: SSAValue, number: float) -> _Made:
        return self._row_nest([], buffer, lambda block, _: self._number(block, number))

    def _number(self, block: Block, number: float) -> SSAValue:
        return _add(block, arith.ConstantOp(FloatAttr(number, self.type)))

    def _at_rows(self, nest: NestOp, row: _Row, index: Sequence[Linear]) -> list[Linear]:
        """An index of a nest over the classes: its other iterators have one point, or are not in it."""
        count = len(self.rows)
        zero = Linear((0,) * count, 0)
        places = [zero] * len(nest.iterators)
        for which, at in enumerate(row):
            places[at] = self.rows[which]
        return [form.substitute(places, count) for form in index]

    # -- the steps

    def _from_lowest(self, nest: NestOp) -> NestOp:
        """The maximum of a block, which is a number where all of its scores are -inf."""
        (write,) = nest.writes
        init = FloatAttr(self.lowest, self.type)
        nest.writes = ArrayAttr([WriteAttr.get(write.map.data, init)])
        return nest

    def _joined_maximum(self, nest: NestOp, row: _Row) -> list[_Made]:
        found = (nest.outs[0], self._at_rows(nest, row, linear_map(nest.write_map(0))))

        def factor(block: Block, values: Sequence[SSAValue]) -> SSAValue:
            largest = _add(block, arith.MaximumfOp(values[0], values[1]))
            return _add(block, math.ExpOp(_add(block, arith.SubfOp(values[0], largest))))

        def larger(block: Block, values: Sequence[SSAValue]) -> SSAValue:
            return _add(block, arith.MaximumfOp(values[1], values[0]))

        return [
            self._row_nest([(self.largest, self.rows), found], self.factor, factor),
            self._row_nest([found], self.largest, larger),
        ]

    def _weights(self, nest: NestOp, row: _Row) -> NestOp:
        """The weights by the running maximum, not by that of the block."""
        old = self.group.nests[self.keys.maximum].outs[0]
        operands, reads = list(nest.operands), list(nest.reads)
        count = len(nest.iterators)
        index = affine_map([Linear.iterator(at, count) for at in row], count)
        for position, value in enumerate(nest.ins):
            if value is old:
                operands[position], reads[position] = self.largest, ReadAttr.get(index)
        nest.operands = operands
        nest.reads = ArrayAttr(reads)
        return nest

    def _summed(self, nest: NestOp, row: _Row, at: int | None) -> list[_Made]:
        part = self._buffer(memref_of(nest.outs[0]).get_shape(), "l")
        index = linear_map(nest.write_map(0))
        found = (part, self._at_rows(nest, row, index))
        joined = self._row_nest([(self.factor, self.rows), found], self.total, self._join)
        return [(self._bare(nest, part, index), row, at), joined]

    def _join(self, block: Block, values: Sequence[SSAValue]) -> SSAValue:
        scaled = _add(block, arith.MulfOp(values[-1], values[0]))
        return _add(block, arith.AddfOp(scaled, values[1]))

    def _bare(self, nest: NestOp, out: SSAValue, index: Sequence[Linear]) -> NestOp:
        """A reduction without what it does at the end, and without what only that reads."""
        arguments = nest.element_arguments(nest.body)
        used = [position for position, argument in enumerate(arguments) if argument.uses]
        types = [memref_of(value).element_type for value in (*(nest.ins[p] for p in used), out)]
        block = Block(arg_types=types)
        values: list[SSAValue] = [block.args[-1]] * len(nest.ins)
        for place, position in enumerate(used):
            values[position] = block.args[place]
        end(block, inline(nest.body.block, [*values, block.args[-1]], block))
        count = len(nest.iterators)
        bare = NestOp(
            nest.iterators.data,
            [nest.ins[position] for position in used],
            [nest.reads.data[position] for position in used],
            [out],
            [WriteAttr.get(affine_map(index, count), nest.writes.data[0].init)],
            Region(block),
        )
        bare.location = nest.location
        self.builder.insert(bare)
        return bare

    def _multiplied(
        self, nest: NestOp, row: _Row, at: int | None
    ) -> tuple[_Made, list[_Made], _Made]:
        """What a product begins with, what it does in each block, and what becomes of it at the end."""
        kept = [i for i, iterator in enumerate(nest.iterators) if not iterator.is_reduction]
        sizes = [nest.sizes[i] for i in kept]
        own = tuple(kept.index(i) for i in row)
        whole, part = self._buffer(sizes, "O"), self._buffer(sizes, "o")
        count = len(nest.iterators)
        bare = self._bare(nest, part, [Linear.iterator(i, count) for i in kept])
        points = [Linear.iterator(i, len(kept)) for i in range(len(kept))]
        rows = [points[i] for i in own]

        def nothing(block: Block, _: Sequence[SSAValue]) -> SSAValue:
            return self._number(block, 0.0)

        start = self._nest(sizes, [], (whole, points), nothing)
        joined = self._nest(
            sizes, [(self.factor, rows), (part, points)], (whole, points), self._join
        )
        return (
            (start, own, None),
            [(bare, row, at), (joined, own, None)],
            self._finished(nest, row, whole, points),
        )

    def _finished(
        self, nest: NestOp, row: _Row, state: SSAValue, index: Sequence[Linear] | None
    ) -> _Made:
        """What a reduction does at the end, of what is in `state` at `index`; without one, at its row."""
        kept = [i for i, iterator in enumerate(nest.iterators) if not iterator.is_reduction]
        own = tuple(kept.index(i) for i in row)
        count = len(kept)
        zero = Linear((0,) * count, 0)
        places = [zero] * len(nest.iterators)
        for place, i in enumerate(kept):
            places[i] = Linear.iterator(place, count)
        used: list[int] = []
        if nest.finish is not None:
            arguments = nest.element_arguments(nest.finish)
            used = [position for position, argument in enumerate(arguments) if argument.uses]
        ins = [
            (
                nest.ins[position],
                [form.substitute(places, count) for form in linear_map(nest.read_map(position))],
            )
            for position in used
        ]
        at = [Linear.iterator(i, count) for i in own] if index is None else index
        written = [form.substitute(places, count) for form in linear_map(nest.write_map(0))]

        def finish(block: Block, values: Sequence[SSAValue]) -> SSAValue:
            if nest.finish is None:
                return values[0]
            elements: list[SSAValue] = [values[-1]] * len(nest.ins)
            for place, position in enumerate(used):
                elements[position] = values[1 + place]
            return inline(nest.finish.block, [*elements, values[0]], block)[0]

        sizes = [nest.sizes[i] for i in kept]
        done = self._nest(sizes, [(state, at), *ins], (nest.outs[0], written), finish)
        done.location = nest.location
        return done, own, None


def _add(block: Block, op: Operation) -> SSAValue:
    block.add_op(op)
    return op.results[0]
