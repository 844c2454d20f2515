"""Products read what is repeated where it is: the heads that others share are not copied.

K' = broadcast_to(K, [4, 3, n, d])      K of 4 heads, each for 3 of Q
K" = reshape(K', [12, n, d])
S = matmul(Q, transpose(K"))            12 heads

S = reshape(matmul(reshape(Q, [4, 3, m, d]), transpose(K)), [12, m, n])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import ints, shape_of
from inarch.dialects.graph.reduce import ReduceOp
from inarch.dialects.graph.shape import BroadcastToOp, ReshapeOp, TransposeOp
from inarch.ir.context import store_of
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.passes.graph._dead import erase_dead


@dataclass(frozen=True)
class ShareBatchesPass(OptionalPass):
    """Splits a batch dimension of which a factor is repeated: broadcast, and merged with the one beside it.

    A product then broadcasts in a dimension of its own, and nobody makes the copies. What leads from the
    repeated tensor to the product, and from one such product to the next (a mask, a softmax), is done in
    the split shape: transposes, elementwise ops, reductions along other dimensions. Behind them stands a
    reshape, which costs nothing.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for _, block in entry_blocks(op):
            _Splitting(block).run()
        erase_dead(op, store_of(ctx))


_Kind: TypeAlias = TransposeOp | ReduceOp | ElementwiseOp | MatmulOp
_KINDS = (TransposeOp, ReduceOp, ElementwiseOp, MatmulOp)
"""What has a form for tensors with one dimension more."""


@dataclass(frozen=True)
class _Split:
    """A dimension that is two."""

    axis: int
    """Counted from the last dimension, which is 1: what broadcasts is aligned there."""
    sizes: tuple[int, int]

    def of(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        """A shape that broadcasts to one with that dimension, as one that does so to the split one."""
        if len(shape) < self.axis:
            return tuple(shape)
        at = len(shape) - self.axis
        product = self.sizes[0] * self.sizes[1]
        if shape[at] not in (1, product):
            return None
        inner = self.sizes if shape[at] == product else (1, 1)
        return (*shape[:at], *inner, *shape[at + 1 :])


@dataclass
class _Splitting:
    block: Block
    splits: dict[SSAValue, _Split] = field(default_factory=dict[SSAValue, _Split])
    """Of what can be had in two dimensions for one without a copy."""
    cores: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The same, in the split shape, or in one that broadcasts to it."""

    def run(self) -> None:
        found = [op for op in self.block.ops if self._reach(op)]
        needed: set[Operation] = set()
        for op in reversed(found):
            users = {use.operation for use in op.results[0].uses}
            if isinstance(op, MatmulOp) or not needed.isdisjoint(users):
                needed.add(op)
        for op in found:
            if op in needed:
                self._split(op)

    def _reach(self, op: Operation) -> bool:
        """Notes how the op's result can be split, where it can be."""
        split = _repeated(op) if isinstance(op, ReshapeOp) else self._after(op)
        if split is not None:
            self.splits[op.results[0]] = split
        return split is not None

    def _after(self, op: Operation) -> _Split | None:
        given = {self.splits[value] for value in op.operands if value in self.splits}
        if len(given) != 1 or not isinstance(op, _KINDS):
            return None
        (split,) = given
        (result,) = op.results
        rank = len(shape_of(result))
        if isinstance(op, TransposeOp):
            at = ints(op.perm).index(rank - split.axis)
            return _Split(rank - at, split.sizes)
        if isinstance(op, ReduceOp):
            at = rank - split.axis
            return split if op.keeps_axes() and at not in op.reduced_axes() else None
        if isinstance(op, MatmulOp) and split.axis <= _MATRIX:
            return None
        fits = all(split.of(shape_of(value)) is not None for value in op.operands)
        return split if fits and split.of(shape_of(result)) is not None else None

    def _split(self, op: Operation) -> None:
        (result,) = op.results
        if isinstance(op, ReshapeOp):
            repeated = op.x.owner
            assert isinstance(repeated, BroadcastToOp), "it has been found so"
            self.cores[result] = repeated.x
            return
        assert isinstance(op, _KINDS), "it has been found so"
        operands = [self._core(value, self.splits[result], op) for value in op.operands]
        new = self._of_cores(op, operands)
        new.location = op.location
        self._insert(new, op)
        core = self.cores[result] = new.results[0]
        if shape_of(core) == self.splits[result].of(shape_of(result)):
            whole = ReshapeOp.make(core, shape=shape_of(result))
            whole.location = op.location
            self._insert(whole, op)
            self.splits[whole.results[0]] = self.splits[result]
            self.cores[whole.results[0]] = core
            result.replace_all_uses_with(whole.results[0])

    def _core(self, value: SSAValue, split: _Split, op: Operation) -> SSAValue:
        """An operand in the split shape: what is known of it, or a view."""
        if value in self.cores:
            return self.cores[value]
        shape = split.of(shape_of(value))
        assert shape is not None, "it has been found so"
        if shape == shape_of(value):
            return value
        view = ReshapeOp.make(value, shape=shape)
        view.location = op.location
        self._insert(view, op)
        return view.results[0]

    def _of_cores(self, op: _Kind, operands: Sequence[SSAValue]) -> Operation:
        """The op on split operands."""
        if isinstance(op, TransposeOp):
            at = len(ints(op.perm)) - self.splits[op.x].axis
            perm = _split_perm(ints(op.perm), at)
            return TransposeOp.make(operands[0], perm=perm)
        if isinstance(op, ReduceOp):
            at = len(shape_of(op.x)) - self.splits[op.x].axis
            axes = [axis + (axis > at) for axis in op.reduced_axes()]
            return type(op).make(operands[0], axes=axes, keepdims=True)
        properties: Mapping[str, Attribute] = op.properties
        return type(op).make(*operands, location=None, **properties)

    def _insert(self, new: Operation, before: Operation) -> None:
        self.block.insert_op_before(new, before)


_MATRIX = 2
"""The dimensions of a product that are no batches."""


def _split_perm(perm: Sequence[int], at: int) -> list[int]:
    """A permutation that moves dimension `at` as two."""
    moved: list[int] = []
    for axis in perm:
        moved += [axis, axis + 1] if axis == at else [axis + (axis > at)]
    return moved


def _repeated(op: ReshapeOp) -> _Split | None:
    """How a reshape merges two dimensions of which one is repeated; None where it does something else."""
    repeated = op.x.owner
    if not isinstance(repeated, BroadcastToOp):
        return None
    old, wide, new = shape_of(repeated.x), shape_of(op.x), shape_of(op.results[0])
    if len(old) != len(wide) or len(new) + 1 != len(wide):
        return None
    more = [axis for axis, sizes in enumerate(zip(old, wide, strict=True)) if sizes[0] != sizes[1]]
    if len(more) != 1:
        return None
    for at in (more[0] - 1, more[0]):
        if at < 0 or at + 1 >= len(wide):
            continue
        if new == (*wide[:at], wide[at] * wide[at + 1], *wide[at + 2 :]):
            return _Split(len(new) - at, (wide[at], wide[at + 1]))
    return None
