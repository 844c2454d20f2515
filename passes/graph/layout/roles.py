"""Which ops can work on blocked channels, and which of their operands are then blocked.

A convolution starts a region of such ops; elementwise ops (of any numbers: what is quantized between stays
so), pooling, reductions over pixels, padding, slices and concatenations take part where an operand is
blocked anyhow. Where a block does not divide
the channels they are filled up, and only ops that keep the zeros behind them take part.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.facts.zeros import keeps_zeros_along
from inarch.dialects.graph.op import GraphOp, element_of, ints, shape_of, tensor_dtype
from inarch.dialects.graph.reduce import ReduceOp
from inarch.dialects.graph.shape import ConcatOp, PadOp, SliceOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.dialects.graph.windows.pool import PoolOp
from inarch.ir.types import f32

MIN_RANK = 3
"""Batch, channels, and at least one spatial dimension."""

_LANE = 4
"""Bytes of a lane of i32: as many terms as it holds are summed up at once."""


@dataclass(frozen=True)
class Role:
    """How an op works on blocked channels."""

    operands: frozenset[int]
    """The positions of those that are blocked; the others, all constants too, are row-major."""
    result: bool
    """Whether the result is blocked."""


def roles(
    block: Block,
    lanes: int,
    is_left: Callable[[Operation], bool] | None = None,
    asked: Container[Operation] = (),
) -> dict[Operation, Role]:
    """The ops of `block` that can work on channels in blocks of `lanes`, in program order.

    What others want otherwise is not `is_left`. Convolutions that are `asked` to are blocked however many
    channels are filled up.
    """
    found: dict[Operation, Role] = {}
    for op in block.ops:
        if not isinstance(op, GraphOp) or (is_left is not None and not is_left(op)):
            continue
        if (role := _role(op, found, lanes, is_asked=op in asked)) is not None:
            constants = {i for i, v in enumerate(op.operands) if isinstance(v.owner, ConstantOp)}
            found[op] = Role(role.operands - constants, role.result)
    return found


def _role(
    op: GraphOp, found: Mapping[Operation, Role], lanes: int, *, is_asked: bool
) -> Role | None:
    values = (*op.operands, *op.results)
    if isinstance(op, ConstantOp) or any(0 in shape_of(v) for v in values):
        return None
    if not _is_of_any_numbers(op) and any(element_of(v) != f32 for v in values):
        return None  # windows of other numbers have no kernel that wants blocks
    if isinstance(op, ConvOp | ConvTransposeOp):
        return _convolution(op, found, lanes, is_asked=is_asked)
    if not any(_is_blocked(operand, found) for operand in op.operands):
        return None
    if len(op.results) != 1:  # a call, of whatever
        return None
    result = op.results[0]
    match op:
        case ReduceOp():
            return _reduction(op)
        case _ if not _is_blockable(result, lanes) or not _keeps_zeros(op, lanes):
            return None
        case ElementwiseOp():
            return _elementwise(op, found, lanes)
        case ConcatOp():
            return _concatenation(op, found, lanes)
        case _:
            return Role(frozenset({0}), result=True) if _keeps_blocks(op, lanes) else None


def _is_of_any_numbers(op: GraphOp) -> bool:
    """Whether its dtype does not count: of sums of bytes, for kernels, and of what moves or maps numbers."""
    is_sum = isinstance(op, ConvOp) and op.to is not None and op.groups.value.data == 1
    return is_sum or isinstance(op, ElementwiseOp | PadOp | SliceOp | ConcatOp)


def _keeps_blocks(op: GraphOp, lanes: int) -> bool:
    """Whether the op, of one operand, neither mixes channels nor moves them within blocks."""
    match op:
        case PoolOp():
            return True
        case PadOp():
            return _is_whole(op.x, (*ints(op.low)[1:2], *ints(op.high)[1:2]), lanes)
        case SliceOp():
            return _takes_blocks(op, lanes)
        case _:
            return False


def _is_blocked(value: SSAValue, found: Mapping[Operation, Role]) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and owner in found and found[owner].result


def _is_blockable(value: SSAValue, lanes: int) -> bool:
    """Whether blocks of channels have at most a third more elements than the tensor."""
    shape = shape_of(value)
    return len(shape) >= MIN_RANK and 3 * (-shape[1] % lanes) <= shape[1]


def _has_blocks(value: SSAValue, lanes: int) -> bool:
    """Whether the channels are whole blocks."""
    return len(shape_of(value)) >= MIN_RANK and shape_of(value)[1] % lanes == 0


def _keeps_zeros(op: GraphOp, lanes: int) -> bool:
    return _has_blocks(op.results[0], lanes) or keeps_zeros_along(op, 1)


def _is_whole(value: SSAValue, added: Sequence[int], lanes: int) -> bool:
    """Whether channels of `value`, and those added before and behind, are whole blocks."""
    return not any(added) or all(size % lanes == 0 for size in (shape_of(value)[1], *added))


def _convolution(
    op: ConvOp | ConvTransposeOp, found: Mapping[Operation, Role], lanes: int, *, is_asked: bool
) -> Role | None:
    """One group, or depthwise; a first layer reads its few channels from a row-major image.

    A sum of bytes wants its channels side by side, in a block of their own where they are few.
    Weights that are to be filled up, or laid out by lanes (depthwise), must be constant.
    """
    channels, groups = shape_of(op.x)[1], op.groups.value.data
    outputs = shape_of(op.out)[1]
    depthwise = groups == channels == outputs > 1
    if not (is_asked or _is_blockable(op.out, lanes)) or (groups > 1 and not depthwise):
        return None
    few = channels < lanes and not _is_blocked(op.x, found)
    blocked = is_asked or (_is_blockable(op.x, lanes) and not few)
    filled = outputs % lanes or (blocked and channels % lanes)
    if (filled or depthwise) and not all(isinstance(v.owner, ConstantOp) for v in op.operands[1:]):
        return None
    if (
        few
        and isinstance(op, ConvOp)
        and op.to is not None
        and channels * tensor_dtype(op.x).nbytes % _LANE == 0
    ):
        return Role(frozenset({0}), result=True)
    if not blocked and (not few or groups > 1):
        return None
    return Role(frozenset({0} if blocked else ()), result=True)


def _elementwise(op: ElementwiseOp, found: Mapping[Operation, Role], lanes: int) -> Role | None:
    """Operands of all channels are blocked; one that is broadcast may stay as it was made."""
    shape = shape_of(op.results[0])
    filled = shape[1] % lanes != 0
    blocked = {
        position
        for position, operand in enumerate(op.operands)
        if len(shape_of(operand)) == len(shape)
        and shape_of(operand)[1] == shape[1]
        and (shape_of(operand) == shape or filled or _is_blocked(operand, found))
    }
    return Role(frozenset(blocked), result=True) if blocked else None


def _reduction(op: ReduceOp) -> Role | None:
    """Over pixels; the result has one for each channel, in the usual order."""
    axes = op.reduced_axes()
    return Role(frozenset({0}), result=False) if axes and min(axes) > 1 else None


def _takes_blocks(op: SliceOp, lanes: int) -> bool:
    if ints(op.sizes)[1] == shape_of(op.x)[1]:
        return ints(op.steps)[1] == 1
    aligned = ints(op.starts)[1] % lanes == ints(op.sizes)[1] % lanes == 0
    return aligned and ints(op.steps)[1] == 1 and _has_blocks(op.x, lanes)


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
