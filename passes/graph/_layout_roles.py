"""Which ops can work on blocked channels, and which of their operands are then blocked.

A convolution starts a region of such ops; elementwise ops, pooling, reductions over pixels, padding,
slices and concatenations take part where an operand is blocked anyhow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects._types import f32
from inarch.dialects.graph._base import GraphOp, element_of, ints, shape_of
from inarch.dialects.graph._elementwise import ElementwiseOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.conv import ConvOp
from inarch.dialects.graph.pool import PoolOp
from inarch.dialects.graph.reduce import ReduceOp
from inarch.dialects.graph.shape import ConcatOp, PadOp, SliceOp

MIN_RANK = 3
"""Batch, channels, and at least one spatial dimension."""


@dataclass(frozen=True)
class Role:
    """How an op works on blocked channels."""

    operands: frozenset[int]
    """The positions of those that are blocked; the others, all constants too, are row-major."""
    result: bool
    """Whether the result is blocked."""


def roles(block: Block, lanes: int) -> dict[Operation, Role]:
    """The ops of `block` that can work on channels in blocks of `lanes`, in program order."""
    found: dict[Operation, Role] = {}
    for op in block.ops:
        if isinstance(op, GraphOp) and (role := _role(op, found, lanes)) is not None:
            constants = {i for i, v in enumerate(op.operands) if isinstance(v.owner, ConstantOp)}
            found[op] = Role(role.operands - constants, role.result)
    return found


def _role(op: GraphOp, found: Mapping[Operation, Role], lanes: int) -> Role | None:
    if isinstance(op, ConstantOp) or any(not _is_f32(v) for v in (*op.operands, *op.results)):
        return None
    if isinstance(op, ConvOp):
        return _convolution(op, lanes)
    if not any(_is_blocked(operand, found) for operand in op.operands):
        return None
    match op:
        case ElementwiseOp():
            return _elementwise(op, found, lanes)
        case PoolOp():
            return Role(frozenset({0}), result=True)
        case ReduceOp():
            return _reduction(op)
        case PadOp() if ints(op.low)[1] % lanes == ints(op.high)[1] % lanes == 0:
            return Role(frozenset({0}), result=True)
        case SliceOp() if _takes_blocks(op, lanes):
            return Role(frozenset({0}), result=True)
        case ConcatOp():
            return _concatenation(op, found, lanes)
        case _:
            return None


def _is_f32(value: SSAValue) -> bool:
    return element_of(value) == f32 and 0 not in shape_of(value)


def _is_blocked(value: SSAValue, found: Mapping[Operation, Role]) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and owner in found and found[owner].result


def _has_blocks(value: SSAValue, lanes: int) -> bool:
    shape = shape_of(value)
    return len(shape) >= MIN_RANK and shape[1] % lanes == 0


def _convolution(op: ConvOp, lanes: int) -> Role | None:
    """One group, or depthwise; a first layer reads its few channels from a row-major image."""
    channels, groups = shape_of(op.x)[1], op.groups.value.data
    outputs = shape_of(op.w)[0]
    depthwise = groups == channels == outputs
    if not _has_blocks(op.out, lanes) or (groups > 1 and not depthwise):
        return None
    if channels % lanes == 0:
        return Role(frozenset({0}), result=True)
    return Role(frozenset(), result=True) if channels < lanes else None


def _elementwise(op: ElementwiseOp, found: Mapping[Operation, Role], lanes: int) -> Role | None:
    """Operands of all channels are blocked; one that is broadcast may stay as it was made."""
    (result,) = op.results
    if not _has_blocks(result, lanes):
        return None
    shape = shape_of(result)
    blocked = {
        position
        for position, operand in enumerate(op.operands)
        if len(shape_of(operand)) == len(shape)
        and shape_of(operand)[1] == shape[1]
        and (shape_of(operand) == shape or _is_blocked(operand, found))
    }
    return Role(frozenset(blocked), result=True) if blocked else None


def _reduction(op: ReduceOp) -> Role | None:
    """Over pixels; the result has one for each channel, in the usual order."""
    axes = op.reduced_axes()
    return Role(frozenset({0}), result=False) if axes and min(axes) > 1 else None


def _takes_blocks(op: SliceOp, lanes: int) -> bool:
    aligned = ints(op.starts)[1] % lanes == ints(op.sizes)[1] % lanes == 0
    return aligned and ints(op.steps)[1] == 1


def _concatenation(op: ConcatOp, found: Mapping[Operation, Role], lanes: int) -> Role | None:
    """All parts are made of whole blocks, and most of what is written is blocked anyhow."""
    if not all(_has_blocks(operand, lanes) for operand in op.operands):
        return None
    blocked = sum(elements(v) for v in op.operands if _is_blocked(v, found))
    if 2 * blocked < elements(op.results[0]):
        return None
    return Role(frozenset(range(len(op.operands))), result=True)


def elements(value: SSAValue) -> int:
    """How many elements a tensor has."""
    count = 1
    for size in shape_of(value):
        count *= size
    return count
