"""`memref`: loads, stores and subviews; an index outside its buffer is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from inarch.core.lazy import Array, np
from inarch.definitions.access import with_garbage
from inarch.definitions.buffers import Buffer
from inarch.definitions.elements import Element, plain
from inarch.definitions.frame import Definition, Frame, outside
from inarch.dialects.loop.memory import memref_of
from inarch.ir.index.inside import kept_dimensions
from inarch.ir.types import layout_of


def _places(op: Operation, frame: Frame, buffer: Buffer, indices: Sequence[SSAValue]) -> Array:
    """The flat index of each element, for all points at once."""
    total: Any = np.asarray(buffer.offset)
    values = [plain(frame.get(index)) for index in indices]
    for axis, (value, size, stride) in enumerate(
        zip(values, buffer.shape, buffer.strides, strict=True)
    ):
        if value.size and not (value.min() >= 0 and value.max() < size):
            raise outside(
                op,
                f"expected an index from 0 to {size - 1} in dimension {axis}, found "
                f"{value.min() if value.min() < 0 else value.max()}",
            )
        total = total + value * stride
    return total


def loaded(op: Operation, frame: Frame, source: SSAValue, indices: Sequence[SSAValue]) -> Element:
    """The element of a buffer at indices, as `op` reads it."""
    buffer = frame.buffer(source)
    places = _places(op, frame, buffer, indices)
    if buffer.tags is not None:
        tags = buffer.tags[places] != buffer.tag
        if tags.any():
            buffer = with_garbage(op, frame, buffer, [(0, size - 1) for size in buffer.shape])
    parts = [part[places] for part in buffer.parts]
    return frame.domain.element(parts, buffer.dtype)


def _load(op: Operation, frame: Frame) -> None:
    """`result = buffer[indices]`."""
    assert isinstance(op, memref.LoadOp)
    frame.set(op, loaded(op, frame, op.memref, op.indices))


def _store(op: Operation, frame: Frame) -> None:
    """`buffer[indices] = value`."""
    assert isinstance(op, memref.StoreOp)
    buffer = frame.buffer(op.memref)
    places = _places(op, frame, buffer, op.indices)
    parts = frame.domain.parts(frame.get(op.value))
    shape = np.broadcast_shapes(places.shape, parts[0].shape)
    buffer.put(np.broadcast_to(places, shape), [np.broadcast_to(part, shape) for part in parts])


def _subview(op: Operation, frame: Frame) -> None:
    """A window: offsets, sizes and strides in elements of the source; dimensions of size 1 may go."""
    assert isinstance(op, memref.SubviewOp)
    source = frame.buffer(op.source)

    def numbers(static: Any, dynamic: Sequence[SSAValue]) -> list[int]:
        rest = iter(dynamic)
        return [
            int(plain(frame.get(next(rest)))) if n == DYNAMIC_INDEX else int(n)
            for n in static.get_values()
        ]

    offsets = numbers(op.static_offsets, op.offsets)
    sizes = numbers(op.static_sizes, op.sizes)
    steps = numbers(op.static_strides, op.strides)
    for axis, (start, size, step) in enumerate(zip(offsets, sizes, steps, strict=True)):
        ends = (start, start + (size - 1) * step)
        if size and (min(ends) < 0 or max(ends) >= source.shape[axis]):
            raise outside(
                op,
                f"expected a part of 0 to {source.shape[axis] - 1} in dimension {axis}, found "
                f"{min(ends)} to {max(ends)}",
            )
    offset = source.offset + sum(o * s for o, s in zip(offsets, source.strides, strict=True))
    strides = [step * stride for step, stride in zip(steps, source.strides, strict=True)]
    kind = memref_of(op.result)
    kept = kept_dimensions(sizes, tuple(kind.get_shape()))
    window = source.window([sizes[i] for i in kept], [strides[i] for i in kept], offset)
    declared = layout_of(kind)
    if declared is not None:
        wanted = [s for s, n in zip(declared[0], window.shape, strict=True) if n > 1]
        found = [s for s, n in zip(window.strides, window.shape, strict=True) if n > 1]
        if wanted != found or (0 not in window.shape and declared[1] not in (None, window.offset)):
            raise outside(op, f"expected strides {found} at element {window.offset}, found {kind}")
    frame.set(op, window)


DEFINITIONS: Mapping[type[Operation], Definition] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.SubviewOp: _subview,
}
