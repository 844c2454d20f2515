"""Which borders of a buffer are known to hold 0: nests that write a constant say so, or the caller does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.indirect import over_all
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import error_at
from inarch.ir.index.linear import linear_map
from inarch.ir.types import i64

HALO = "inarch.halo"
"""Attribute of a function's argument, `array<i64: before, behind, ...>` by dimension: the caller has
written 0 there, and nobody writes there again."""

Margins = tuple[tuple[int, int], ...]
"""By dimension: how many indices at its begin, and at its end, hold nothing but 0."""

_Box = tuple[tuple[int, int], ...]
"""By dimension: the first index, and the one behind the last."""


def zero_margins(buffer: SSAValue) -> Margins:
    """The margins of `buffer` as every reader behind its last writer finds them; none where unknown."""
    shape = buffer_shape(buffer)
    nothing = ((0, 0),) * len(shape)
    if isinstance(buffer, BlockArgument):
        return _promised(buffer) or nothing
    if not isinstance(buffer.owner, AllocOp):
        return nothing
    zeros: list[_Box] = []
    others: list[_Box] = []
    for op in dict.fromkeys(use.operation for use in buffer.uses):  # some use it many times
        if not isinstance(op, NestOp) or op.parent is not buffer.owner.parent:
            return nothing  # a view, or an op whose writes are not known
        if buffer not in op.outs:
            continue
        (zeros if _writes_zero(op) else others).extend(_written(op, buffer))
    return tuple(_margin(shape, axis, zeros, others) for axis in range(len(shape)))


def promised_zeros(margins: Margins) -> DictionaryAttr:
    """The attribute that promises `margins`; empty where there are none."""
    numbers = [number for pair in margins for number in pair]
    if not any(numbers):
        return DictionaryAttr({})
    return DictionaryAttr({HALO: DenseArrayBase.from_list(i64, numbers)})


def _promised(argument: BlockArgument) -> Margins | None:
    function = argument.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return None
    attributes = function.arg_attrs.data[argument.index]
    assert isinstance(attributes, DictionaryAttr)
    halo = attributes.data.get(HALO)
    if not isinstance(halo, DenseArrayBase):
        return None
    numbers = [int(number) for number in halo.get_values()]
    shape = buffer_shape(argument)
    margins = tuple(zip(numbers[::2], numbers[1::2], strict=False))
    fits = len(numbers) == 2 * len(shape) and all(
        min(pair) >= 0 and sum(pair) <= size for pair, size in zip(margins, shape, strict=True)
    )
    if not fits:
        raise error_at(
            function,
            f"expected {HALO} of argument {argument.index} to be two numbers a dimension that lie within "
            f"{shape}, found {numbers}",
        )
    return margins


def _written(op: NestOp, buffer: SSAValue) -> Iterator[_Box]:
    """What the nest writes to at the most, in bounds: a box for each of its outputs that is the buffer."""
    for at in (position for position, value in enumerate(op.outs) if value is buffer):
        index, picked = over_all(op.write_map(at), buffer_shape(buffer))
        spans = [form.bounds((*op.sizes, *picked)) for form in index]
        pairs = zip(spans, buffer_shape(buffer), strict=True)
        yield tuple((max(0, low), min(high + 1, size)) for (low, high), size in pairs)


def _writes_zero(op: NestOp) -> bool:
    """Whether every element of the box gets +0: dense, one output, a constant."""
    if op.ins or len(op.outs) != 1 or op.finish is not None or op.has_reduction or 0 in op.sizes:
        return False
    forms = linear_map(op.write_map(0))
    used = [axis for form in forms for axis, by in enumerate(form.coefficients) if by]
    is_dense = all(sum(map(abs, form.coefficients)) <= 1 for form in forms)
    if not is_dense or len(set(used)) != len(used):
        return False
    (value,) = op.yielded(op.body)
    constant = value.owner
    return isinstance(constant, arith.ConstantOp) and str(number_of(constant.value)) in ("0", "0.0")


def _margin(
    shape: tuple[int, ...], axis: int, zeros: list[_Box], others: list[_Box]
) -> tuple[int, int]:
    """The slices at both ends of a dimension that are written with 0 everywhere, and with nothing else."""
    size = shape[axis]
    # Between two edges of boxes slices are alike.
    inner = {edge for box in (*zeros, *others) for edge in box[axis] if 0 < edge < size}
    alike = list(pairwise(sorted({0, size, *inner})))
    kept = [each for each in alike if not _is_zero(shape, axis, each[0], zeros, others)]
    return (kept[0][0], size - kept[-1][1]) if kept else (size, 0)


def _is_zero(
    shape: tuple[int, ...], axis: int, index: int, zeros: list[_Box], others: list[_Box]
) -> bool:
    if any(box[axis][0] <= index < box[axis][1] for box in others):
        return False
    sliced = tuple((index, index + 1) if at == axis else (0, n) for at, n in enumerate(shape))
    return _covers(zeros, sliced)


def _covers(boxes: list[_Box], wanted: _Box) -> bool:
    """Whether every point of `wanted` is in one of `boxes`."""
    for box in boxes:
        common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, wanted, strict=True))
        if all(low < high for low, high in common):
            return all(_covers(boxes, rest) for rest in _without(wanted, common))
    return False


def _without(whole: _Box, part: _Box) -> Iterator[_Box]:
    """Disjoint boxes of what is in `whole` and not in `part`, which lies within."""
    for axis, ((low, high), (first, last)) in enumerate(zip(whole, part, strict=True)):
        for begin, end in ((low, first), (last, high)):
            if begin < end:
                yield (*part[:axis], (begin, end), *whole[axis + 1 :])
