"""Ops go back: they lose their owner, and a match becomes its ops again."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp
from inarch.ir.edit import erase
from inarch.passes.partition.common import BACKEND, MATCH, PATTERN, REGION
from inarch.passes.partition.cut.rewrite import erase_unused, strip

_MARKS = (BACKEND, PATTERN, MATCH, REGION)
"""What goes; what a person wrote stays, for who is asked next."""


def inner_ops(op: Operation) -> list[Operation]:
    """The ops that count: of a composite those in it."""
    if not isinstance(op, CompositeRegionOp):
        return [op]
    return [
        inner
        for inner in op.body.block.ops
        if inner is not op.body.block.last_op and not isinstance(inner, ConstantOp)
    ]


def count_of(ops: Sequence[Operation]) -> int:
    """How many ops there are, those of a match one by one."""
    return sum(len(inner_ops(op)) for op in ops)


def release(op: Operation) -> list[Operation]:
    """The ops that `op` was, now nobody's."""
    found = inner_ops(op)
    for inner in found:
        strip(inner, *_MARKS)
    if isinstance(op, CompositeRegionOp):
        _dissolve(op)
    return found


def dissolve_matches(function: FuncOp) -> None:
    """Every match in a backend's function is ops again, as hosts compile them."""
    for composite in [op for op in function.walk() if isinstance(op, CompositeRegionOp)]:
        release(composite)


def drop_copy(op: Operation) -> None:
    """Lets users of a cheap op that came back, a copy that a match took, use the original if it is there."""
    block = op.parent
    if not isinstance(op, GraphOp) or not op.IS_CHEAP or block is None or BACKEND in op.attributes:
        return
    if isinstance(op.parent_op(), CompositeRegionOp):  # another match has it
        return
    for other in block.ops:
        if other is op:
            return
        if BACKEND in other.attributes or not _is_alike(other, op):
            continue
        constants = [value.op for value in op.operands if isinstance(value, OpResult)]
        op.results[0].replace_all_uses_with(other.results[0])
        erase(op)
        erase_unused([each for each in constants if isinstance(each, ConstantOp)])
        return


def _is_alike(one: Operation, other: Operation) -> bool:
    """Whether two ops do the same to the same; of constants the copies are the same, too."""
    return (
        one.name == other.name
        and one.properties == other.properties
        and len(one.operands) == len(other.operands)
        and all(map(_is_same, one.operands, other.operands))
    )


def _is_same(one: SSAValue, other: SSAValue) -> bool:
    if one is other:
        return True
    makers = one.owner, other.owner
    return all(isinstance(each, ConstantOp) for each in makers) and _is_alike(*makers)  # pyright: ignore[reportArgumentType] - they are ops


def _dissolve(composite: CompositeRegionOp) -> None:
    """Puts the ops of a composite in its place."""
    parent, block = composite.parent, composite.body.block
    last = block.last_op
    assert parent is not None  # it is in a function
    assert last is not None  # C2 of the composite
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, composite.inputs, strict=True))
    yielded = [values.get(value, value) for value in last.operands]
    for argument, value in zip(block.args, composite.inputs, strict=True):
        argument.replace_all_uses_with(value)
    for op in list(block.ops):
        op.detach()
        if op is not last:
            parent.insert_op_before(op, composite)
    for result, value in zip(composite.outs, yielded, strict=True):
        result.replace_all_uses_with(value)
    last.erase()
    erase(composite)
