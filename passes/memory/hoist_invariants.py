"""Loop-invariant code motion: packs and pure nests of invariant buffers are computed before the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.buffer import AllocOp, ReshapeOp, root
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.functions import entry_blocks
from inarch.ir.names import symbols_of
from inarch.ir.passes import OptionalPass
from inarch.passes.loop.nests.uses import written_buffers

_VIEWS = (memref.SubviewOp, ReshapeOp)


@dataclass(frozen=True)
class HoistInvariantsPass(OptionalPass):
    """Moves loop-invariant nests and copies before their loop: packs of weights, mostly.

    The op stands in the loop, under no condition. It reads what is defined outside of the loop, and written
    by nothing in it; it writes one buffer that the loop allocates, nothing else in it writes, and nothing
    uses before. From loops in loops it moves out as far as that holds. What is marked to be kept stays.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = symbols_of(op)
        for _, block in entry_blocks(op):
            loops = [each for each in block.walk() if isinstance(each, ForOp | WhileOp)]
            for loop in reversed(loops):  # inner ones first
                _Hoisting(loop, symbols).run()


class _Hoisting:
    """One loop; which buffers something in it writes: how many ops do; and what first uses each buffer."""

    def __init__(self, loop: ForOp | WhileOp, symbols: Mapping[str, Operation]) -> None:
        self._loop = loop
        self._writers: dict[SSAValue, int] = {}
        self._first: dict[SSAValue, Operation] = {}
        for op in loop.body.walk():
            if not isinstance(op, _VIEWS):
                for value in _buffers(op.operands):
                    self._first.setdefault(root(value), op)
            for buffer in {root(value) for value in written_buffers(op, symbols)}:
                self._writers[buffer] = self._writers.get(buffer, 0) + 1

    def run(self) -> None:
        """Moves what may move, in order: what is made of it may then move as well."""
        for op in list(self._loop.body.block.ops):
            if isinstance(op, NestOp | PackOp) and not is_kept(op):
                self._move(op)

    def _move(self, op: NestOp | PackOp) -> None:
        outs = list(op.outs) if isinstance(op, NestOp) else [op.dst]
        made = outs[0].owner
        if len(outs) != 1 or not isinstance(made, AllocOp) or made.parent is not op.parent:
            return
        if self._writers[made.buffer] != 1:
            return
        if self._first[made.buffer] is not op:  # read before: `plan-memory` refuses that
            return
        ins = list(op.ins) if isinstance(op, NestOp) else [op.src]
        views: list[Operation] = []
        if self._uses_iteration(op) or not all(self._is_same(value, views) for value in ins):
            return
        around = self._loop.parent
        assert around is not None, "it is in a function"
        for each in (*views, made, op):
            if each.parent is not around:
                each.detach()
                around.insert_op_before(each, self._loop)
        del self._writers[made.buffer]

    def _uses_iteration(self, op: Operation) -> bool:
        """Whether its body uses a number of the loop's."""
        inner = [value for each in op.walk() if each is not op for value in each.operands]
        return any(
            self._is_within(value.owner) and not op.is_ancestor(_op_of(value.owner))
            for value in inner
        )

    def _is_same(self, value: SSAValue, views: list[Operation]) -> bool:
        """Whether a buffer is loop-invariant; adds the views in the loop through which it is read."""
        if root(value) in self._writers:
            return False
        owner = value.owner
        if not self._is_within(owner):
            return True
        if not isinstance(owner, _VIEWS) or owner.parent is not self._loop.body.block:
            return False
        numbers = [each for each in owner.operands if not isinstance(each.type, MemRefType)]
        if any(self._is_within(each.owner) for each in numbers):
            return False
        if not self._is_same(owner.source, views):
            return False
        views.append(owner)
        return True

    def _is_within(self, owner: Operation | Block) -> bool:
        op: Operation | None = _op_of(owner)
        while op is not None and op is not self._loop:
            op = op.parent_op()
        return op is not None


def _op_of(owner: Operation | Block) -> Operation:
    """The op that makes a value, or in whose region it is an argument."""
    op = owner.parent_op() if isinstance(owner, Block) else owner
    assert op is not None, "it is in a function"
    return op


def _buffers(values: Sequence[SSAValue]) -> list[SSAValue]:
    return [value for value in values if isinstance(value.type, MemRefType)]
