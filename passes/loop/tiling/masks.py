"""Keys that a constant mask hides from rows: which ones each row of a softmax sees.

    S[m, n] = (Q K)[m, n] + mask[m, n]        mask[m, n] = 0 for m - W < n <= m, else -inf
    row m: W keys of N, up to its own; or these, and the first few

What is hidden has a weight of 0: blocks of keys that are hidden from all rows of a block are left out. An
expression of scores is followed as what it adds to a product: constants, selections by constants, scales.
Two kinds of hidden scores are told apart:
    -inf, whatever is added to it: no weight, in a row that has others; in one that has not, no number;
    a number near the lowest, added to products alone, in a row that shows others: products of up to a
    sixteenth of the largest number are taken to be all that there are. In a row that shows none, what is
    hidden is as large as all the rest, and is kept.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i1
from xdsl.ir import BlockArgument, Operation, SSAValue

from inarch.core.lazy import Array, np
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.buffer import ConstantOp, ReshapeOp
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import ConstantStore
from inarch.ir.index.linear import linear_map
from inarch.ir.payload.constants import ConstantAttr
from inarch.ir.types import dtype_of
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.edge import is_elementwise
from inarch.passes.loop.tiling.group import Group
from inarch.passes.loop.tiling.keys import Keys, Window
from inarch.passes.loop.tiling.scores import ANYTHING, PRODUCT, ConstantTerm, Evaluator, Term

_MOST = 1 << 24
"""Scores of a head: more are not looked at."""


class Masks:
    """Which keys rows see in the groups of a program: equal scores of many layers are looked at once."""

    def __init__(self, store: ConstantStore) -> None:
        self._store = store
        self._evaluators: dict[float, Evaluator] = {}
        self._found: dict[object, Window] = {}

    def window_of(self, group: Group, keys: Keys) -> Window:
        """Which keys rows may have a weight of; rows are those of the innermost class."""
        sizes = group.sizes[-1], keys.size
        if sizes[0] * sizes[1] > _MOST:
            return Window()
        kind = memref_of(group.nests[keys.weights].outs[0]).element_type
        largest = float(np.finfo(dtype_of(kind).numpy).max)
        search = _Search(group, keys)
        scores = search.scores(keys.maximum), search.scores(keys.weights)
        key = (scores, sizes, largest)
        if key not in self._found:
            new = Evaluator(self._store, largest)
            hidden = self._evaluators.setdefault(largest, new).hidden(scores)
            self._found[key] = _window_of(np.broadcast_to(~hidden, sizes))
        return self._found[key]


def _window_of(shown: Array) -> Window:
    """Where rows begin and end to see keys, by their numbers; rows that see none say nothing."""
    rows, size = shown.shape
    own = np.flatnonzero(shown.any(axis=1))
    if not len(own):
        return Window(None, -rows)
    end = int((size - shown[own, ::-1].argmax(axis=1) - own).max())
    last = end if end < size else None
    always = _leading(shown[own[-1]])
    later = shown[own, always:]
    reach = later.any(axis=1)
    first = int((later[reach].argmax(axis=1) + always - own[reach]).min())
    if rows - 1 + first <= always:
        return Window(None, last)
    return Window(first, last, always)


def _leading(shown: Array) -> int:
    """How many keys the last row sees before a gap: all rows may see them, beside their windows."""
    count = int((~shown).argmax())
    return count if shown[count:].any() and not shown.all() else 0


class _Search:
    def __init__(self, group: Group, keys: Keys) -> None:
        self._group, self._keys = group, keys
        self._writers = {out: at for at, nest in enumerate(group.nests) for out in nest.outs}

    def scores(self, position: int) -> Term:
        """Of the nest of the maximum what it is of; of that of the weights, what a maximum is taken from."""
        nest = self._group.nests[position]
        (value,) = nest.yielded(nest.body)
        op = value.owner
        if isinstance(op, arith.MaximumfOp):
            (accumulator,) = nest.accumulators(nest.body)
            return self._value(op.lhs if op.rhs is accumulator else op.rhs, position)
        assert isinstance(op, math.ExpOp), "it writes weights"
        difference = op.operand.owner
        assert isinstance(difference, arith.SubfOp), "it writes weights"
        return self._value(difference.lhs, position)

    # -- what is in buffers

    def _value(self, value: SSAValue, position: int) -> Term:
        """What a nest's region computes."""
        nest = self._group.nests[position]
        if isinstance(value, BlockArgument):
            if value.index < len(nest.ins):
                return self._read(nest, value.index, position)
            is_sum = (
                match_contraction(nest) is not None and number_of(nest.writes.data[0].init) == 0
            )
            return PRODUCT if is_sum else ANYTHING
        op = value.owner
        assert isinstance(op, Operation)
        return _computed(op, lambda operand: self._value(operand, position))

    def _read(self, nest: NestOp, at: int, position: int) -> Term:
        buffer, read = nest.ins[at], nest.reads.data[at]
        if read.is_padded or is_indirect(nest):
            return ANYTHING
        constant = _constant_of(buffer)
        if constant is not None:
            return self._of_constant(nest, at, position, constant)
        writer = self._writers.get(buffer)
        if writer is None or self._keys.iterators[writer] is None or buffer not in self._keys.axes:
            return ANYTHING
        other = self._group.nests[writer]
        last = other.finish
        if match_contraction(other) is None:
            if not is_elementwise(other):
                return ANYTHING
            last = None
        elif last is None:
            return PRODUCT
        (result,) = other.yielded(other.body if last is None else last)
        return self._value(result, writer)

    def _of_constant(self, nest: NestOp, at: int, position: int, value: ConstantAttr) -> Term:
        key = self._keys.iterators[position]
        assert key is not None, "only nests along the keys are asked"
        own = (self._group.classes[-1][position], key)
        shape = buffer_shape(nest.ins[at])
        index: list[tuple[int | None, int]] = []
        for size, form in zip(shape, linear_map(nest.read_map(at)), strict=True):
            lone = form.lone_iterator
            whole = lone is not None and (lone not in own or size == nest.sizes[lone])
            if not whole and not form.is_constant:
                return ANYTHING
            index.append((lone, form.constant))
        kept = [lone for lone, _ in index if lone in own]
        if len(set(kept)) < len(kept):
            return ANYTHING
        sizes = self._group.sizes[-1], self._keys.size
        return ConstantTerm("constant", (), 0.0, value, tuple(shape), tuple(index), own, sizes)


def _constant_of(buffer: SSAValue) -> ConstantAttr | None:
    owner = buffer.owner
    source = owner.source if isinstance(owner, ReshapeOp) else buffer
    return source.owner.value if isinstance(source.owner, ConstantOp) else None


def _computed(op: Operation, term: Callable[[SSAValue], Term]) -> Term:
    """What an op of a region computes."""
    if isinstance(op, arith.ConstantOp):
        return _number(op)
    name = next((name for kind, name in _NAMES.items() if isinstance(op, kind)), None)
    return ANYTHING if name is None else Term(name, tuple(map(term, op.operands)))


_NAMES: dict[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.SubfOp: "difference",
    arith.MulfOp: "product of",
    arith.DivfOp: "quotient",
    arith.SelectOp: "picked",
    arith.MaximumfOp: "larger",
}


def _number(op: arith.ConstantOp) -> Term:
    found = op.value
    if not isinstance(found, FloatAttr | IntegerAttr):
        return ANYTHING
    number = float(found.value.data)
    if found.type == i1:  # of which -1 is true, too
        number = abs(number)
    return Term("number", (), number)
