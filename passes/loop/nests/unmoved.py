"""Loops in which a buffer is invariant: a copy that is made of it once serves all of their iterations."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp, root
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import ITERATIONS


def unmoved(op: Operation, buffer: SSAValue) -> list[ForOp]:
    """The loops around `op`, innermost first, in which `buffer` is one that nothing writes.

    Up to the one in which it is defined, or in which something may write to its memory, or to a condition.
    """
    found: list[ForOp] = []
    memory = root(buffer)
    parent = op.parent_op()
    while isinstance(parent, ForOp) and not _is_within(buffer, parent):
        if not isinstance(memory.owner, ConstantOp) and _may_write(parent, memory):
            break
        found.append(parent)
        parent = parent.parent_op()
    return found


def iterations(loops: list[ForOp]) -> int:
    """How often their body runs, in all."""
    total = 1
    for loop in loops:
        total *= max(1, loop.likely_trip_count)
    return total


def served(op: Operation, buffer: SSAValue) -> int:
    """How often `op` reads what is made of a buffer once: by loops around it, and by calls of a body."""
    return iterations(unmoved(op, buffer)) * same_calls(buffer)


def same_calls(buffer: SSAValue) -> int:
    """For how many calls of its function a buffer is the same; 1 where nothing says that it is for more."""
    memory = root(buffer)
    if not isinstance(memory, BlockArgument):
        return 1
    function = memory.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return 1
    found = function.arg_attrs.data[memory.index].data.get(ITERATIONS)
    return found.value.data if isinstance(found, IntegerAttr) else 1


def _is_within(value: SSAValue, loop: ForOp) -> bool:
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None:
        if op is loop:
            return True
        op = op.parent_op()
    return False


def _may_write(loop: ForOp, memory: SSAValue) -> bool:
    return any(root(value) is memory for op in loop.walk() for value in _written(op))


def _written(op: Operation) -> list[SSAValue]:
    """The buffers that an op may write; of one that is not known, all."""
    match op:
        case NestOp():
            return list(op.outs)
        case PackOp():
            return [op.dst]
        case memref.StoreOp():
            return [op.memref]
        case memref.LoadOp() | memref.SubviewOp() | ReshapeOp() | AllocOp() | ConstantOp():
            return []
        case _:
            return [value for value in op.operands if isinstance(value.type, MemRefType)]
