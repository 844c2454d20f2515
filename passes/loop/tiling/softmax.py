"""Recognising the weights of a softmax: `exp(x - m)`, where m is the maximum of a row."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import BlockArgument, SSAValue

from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.buffer import root
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.nest import NestOp
from inarch.passes.loop.nests.edge import is_elementwise


def writer_of(buffer: SSAValue) -> NestOp | None:
    """The one nest that writes to a buffer, which nobody writes to through a view; else None."""
    found: NestOp | None = None
    if root(buffer) is not buffer:
        return None
    for use in buffer.uses:
        user = use.operation
        if not isinstance(user, NestOp) or (found is not None and use.index >= len(user.ins)):
            return None
        if use.index >= len(user.ins):
            found = user
    return found


def maximum_of(nest: NestOp) -> int | None:
    """The operand m of an elementwise nest that writes `exp(x - m)`, where m is a maximum of x; else None.

    m is written by a nest that reduces by `maximumf`: where that is the maximum of the same x, what is
    written is between 0 and 1, or not a number.
    """
    if not is_elementwise(nest) or is_indirect(nest):
        return None
    (value,) = nest.yielded(nest.body)
    power = value.owner
    if not isinstance(power, math.ExpOp):
        return None
    difference = power.operand.owner
    if not isinstance(difference, arith.SubfOp):
        return None
    largest = difference.rhs
    if not isinstance(largest, BlockArgument) or len(list(largest.uses)) != 1:
        return None
    writer = writer_of(nest.ins[largest.index])
    return largest.index if writer is not None and is_maximum(writer) else None


def is_maximum(nest: NestOp) -> bool:
    """Whether a nest writes the maximum of something: `max(acc, ...)` over its one reduction."""
    if sum(iterator.is_reduction for iterator in nest.iterators) != 1 or nest.has_scan:
        return False
    return (
        len(nest.outs) == 1
        and nest.finish is None
        and not is_indirect(nest)
        and number_of(nest.writes.data[0].init) == float("-inf")
        and _joins(nest, arith.MaximumfOp) is not None
    )


def is_sum_of(nest: NestOp, buffer: SSAValue) -> bool:
    """Whether a nest writes the sum of the elements of a buffer over its one reduction, maybe finished."""
    if sum(iterator.is_reduction for iterator in nest.iterators) != 1 or nest.has_scan:
        return False
    if len(nest.outs) != 1 or is_indirect(nest) or number_of(nest.writes.data[0].init) != 0:
        return False
    term = _joins(nest, arith.AddfOp)
    return isinstance(term, BlockArgument) and nest.operands[term.index] is buffer


def _joins(nest: NestOp, kind: type[arith.AddfOp | arith.MaximumfOp]) -> SSAValue | None:
    """What the body joins with its accumulator, which it uses for nothing else; None: it does not."""
    (accumulator,) = nest.accumulators(nest.body)
    (value,) = nest.yielded(nest.body)
    last = value.owner
    if not isinstance(last, kind) or len(list(accumulator.uses)) != 1:
        return None
    if last.lhs is accumulator:
        return last.rhs
    return last.lhs if last.rhs is accumulator else None
