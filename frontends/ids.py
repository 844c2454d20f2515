"""Values that are indices: a constant outside is an error of the model, an input outside one of the call.

What is computed is not looked at: `graph.gather` reads the nearest element, and scatters drop what is
outside, so that nothing else is read or written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.shape import BroadcastToOp, ConcatOp, ReshapeOp, TransposeOp
from inarch.frontends.builder import Builder, Range

_MOVES = (BroadcastToOp, ConcatOp, TransposeOp)
"""What gives all elements of its operands, in another order."""


def declare(builder: Builder, value: SSAValue, ranges: Sequence[Range]) -> None:
    """Says that the elements of `value`, in turn, are indices within these ranges, ends included.

    The constants and arguments that they are as they are given are found behind what only moves them.
    In a body, which may never run, nothing is said. Raises InarchError for a constant outside.
    """
    if builder.block is not builder.outermost or 0 in shape_of(value):
        return
    for source in _sources(builder, value, is_alike=len(set(ranges)) == 1):
        if source in builder.arrays:
            _check(builder.arrays[source], ranges)
        elif isinstance(source, BlockArgument) and tensor_dtype(source).name in ("i32", "i64"):
            builder.indices.setdefault(source, []).append(ranges)


def indices_of(builder: Builder, argument: SSAValue) -> Sequence[int] | None:
    """What the elements of an input may be, as `inarch.indices`; None where it is of no indices."""
    uses = builder.indices.get(argument)
    if not uses:
        return None
    every = [
        [ranges[at % len(ranges)] for ranges in uses] for at in range(math.lcm(*map(len, uses)))
    ]
    shared = [(max(least for least, _ in one), min(most for _, most in one)) for one in every]
    alike = shared[:1] if len(set(shared)) == 1 else shared
    return [bound for each in alike for bound in each]


def _sources(builder: Builder, value: SSAValue, *, is_alike: bool) -> Iterator[SSAValue]:
    """The values whose elements are all elements of `value`, as they are; in order unless `is_alike`."""
    pending = [value]
    while pending:
        value = pending.pop()
        behind = () if value in builder.arrays else _behind(value.owner, is_alike=is_alike)
        pending.extend(behind)
        if not behind:
            yield value


def _behind(op: Operation | Block, *, is_alike: bool) -> Sequence[SSAValue]:
    """What gives its elements to the result of an op that changes none of them."""
    if isinstance(op, ReshapeOp) or (isinstance(op, CastOp) and _keeps(op)):
        return op.operands
    return op.operands if is_alike and isinstance(op, _MOVES) else ()


def _keeps(op: CastOp) -> bool:
    """Whether each integer is the same one in the other dtype; i32 is wide enough for what is an index."""
    source, target = tensor_dtype(op.operands[0]), tensor_dtype(op.results[0])
    return not source.is_float and target.name in ("i32", "i64") and source.name != "ui64"


def _check(array: Array, ranges: Sequence[Range]) -> None:
    flat = array.reshape(-1)
    for at, (least, most) in enumerate(ranges):
        stray = np.flatnonzero((flat[at :: len(ranges)] < least) | (flat[at :: len(ranges)] > most))
        if stray.size:
            place = at + int(stray[0]) * len(ranges)
            raise InarchError(
                f"expected indices from {least} to {most}, found {flat[place]} at element {place} "
                "of a constant; correct it in the model"
            )
