"""A relayout is a copy; a view, where both layouts put the elements in one order."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.physical import TensorPlace


def _lower_relayout(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, RelayoutOp)
    source = builder.buffers[op.x]
    before, after = builder.place(source), TensorPlace(shape_of(op.out), layout_of(op.out))
    if _is_view(before, after):
        view = builder.reshape(source, after.physical_shape)
        if view is not source:
            builder.places[view] = after
        builder.buffers[op.out] = view
        return
    dtype = tensor_dtype(op.x)
    builder.nest(op.nest(), [source], [dtype], builder.result(op.out), dtype)


def _is_view(before: TensorPlace, after: TensorPlace) -> bool:
    """Whether the elements of two buffers of one tensor are the same, in the same order."""
    order = _order(before)
    return before == after or (order is not None and order == _order(after))


def _order(place: TensorPlace) -> list[tuple[int, int]] | None:
    """`(dimension, size)` of the buffer's dimensions from the outside in, but for those of size 1.

    None where the buffer also has elements that are not the tensor's.
    """
    if place.is_padded or any(begin or end for begin, end in place.margins):
        return None
    blocks = list(enumerate(place.blocks))
    dimensions = [*range(len(place.shape)), *(axis for axis, block in blocks if block)]
    pairs = zip(dimensions, place.physical_shape, strict=True)
    merged: list[tuple[int, int]] = []
    for axis, size in pairs:
        if size == 1:
            continue
        if merged and merged[-1][0] == axis:
            merged[-1] = (axis, merged[-1][1] * size)
        else:
            merged.append((axis, size))
    return merged


LOWERING = {RelayoutOp: _lower_relayout}
