"""Linear accesses to buffers: a view of the elements for all points of a nest at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap

from inarch.core.lazy import Array, np
from inarch.definitions.buffers import Buffer, span, strided
from inarch.definitions.elements import Element
from inarch.definitions.frame import Frame, outside
from inarch.dialects.loop.access import ReadAttr
from inarch.dialects.loop.indirect import base_of, picks_of
from inarch.ir.index.affine import linear_form
from inarch.ir.types import row_major


@dataclass(frozen=True)
class Access:
    """Element `offset + sum of strides[i] * iterator i` of a buffer's memory."""

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]

    def at(self, frame: Frame, starts: Sequence[int], sizes: Sequence[int]) -> Element:
        """The elements for the box of points that begins at `starts`: an array of shape `sizes`."""
        offset = self.offset + sum(s * c for s, c in zip(starts, self.strides, strict=True))
        views = self.buffer.views(offset, sizes, self.strides)
        return frame.domain.element(views, self.buffer.dtype)

    def ordered(self, order: Sequence[int]) -> Access:
        """The same over other axes: axis -> iterator."""
        return replace(self, strides=tuple(self.strides[iterator] for iterator in order))

    def addresses(self, starts: Sequence[int], sizes: Sequence[int]) -> Array:
        """The index of each element in the flat memory."""
        total = np.full((1,) * len(sizes), self.offset)
        for axis, (start, size, stride) in enumerate(zip(starts, sizes, self.strides, strict=True)):
            line = (start + np.arange(size)) * stride
            total = total + line.reshape([-1 if d == axis else 1 for d in range(len(sizes))])
        return np.broadcast_to(total, tuple(sizes))


@dataclass(frozen=True)
class Pick:
    """An index that is the element of another operand, of a dimension of `size` elements `stride` apart."""

    index: Access
    size: int
    stride: int


@dataclass(frozen=True)
class PickedAccess:
    """An access whose element is moved by what `picks` say at each point."""

    base: Access
    picks: tuple[Pick, ...]

    @property
    def buffer(self) -> Buffer:
        """What is read."""
        return self.base.buffer

    def ordered(self, order: Sequence[int]) -> PickedAccess:
        """As `Access.ordered`."""
        picks = (replace(pick, index=pick.index.ordered(order)) for pick in self.picks)
        return PickedAccess(self.base.ordered(order), tuple(picks))

    def at(self, frame: Frame, starts: Sequence[int], sizes: Sequence[int]) -> Element:
        """As `Access.at`; an element whose index has an error may be any."""
        places = self.addresses(starts, sizes)
        parts = [part[places] for part in self.buffer.parts]
        for pick in self.picks:
            for error in pick.index.buffer.parts[1:2]:
                unsure = error[pick.index.addresses(starts, sizes)] > 0
                parts[1] = np.where(unsure, np.inf, parts[1])
        return frame.domain.element(parts, self.buffer.dtype)

    def addresses(self, starts: Sequence[int], sizes: Sequence[int]) -> Array:
        """As `Access.addresses`."""
        total = self.base.addresses(starts, sizes)
        for pick in self.picks:
            named = pick.index.buffer.parts[0][pick.index.addresses(starts, sizes)]
            named = named.astype(np.int64)
            counted = np.where(named < 0, named + pick.size, named)
            total = total + np.clip(counted, 0, pick.size - 1) * pick.stride
        return total


def read_access(
    op: Operation,
    frame: Frame,
    buffer: Buffer,
    index: AffineMap,
    sizes: Sequence[int],
    pad: float | None = None,
) -> Access:
    """What `index` reads at the points of `sizes`; with a `pad`, of a copy of the buffer that has it around.

    Of an index that is read, that of 0. Elements that nothing has written hold garbage. Raises InarchError
    for an index outside.
    """
    picks = picks_of(index)
    forms = [linear_form(expr, len(sizes)) for expr in base_of(index).results]
    if 0 in sizes:
        return Access(buffer, buffer.offset, (0,) * len(sizes))
    ranges = [span(constant, sizes, line) for line, constant in forms]
    for axis in picks:
        ranges[axis] = (0, buffer.shape[axis] - 1)
    if pad is None:
        check_ranges(op, buffer, ranges, str(index))
    buffer = with_garbage(op, frame, buffer, _reached(buffer, ranges))
    if pad is not None:
        buffer, low = _padded(frame, buffer, ranges, pad)
        forms = [(line, c - start) for (line, c), start in zip(forms, low, strict=True)]
    return linear_access(buffer, forms, len(sizes))


def write_access(op: Operation, buffer: Buffer, index: AffineMap, sizes: Sequence[int]) -> Access:
    """What `index` writes at the points of `sizes`. Raises InarchError for an index outside."""
    forms = [linear_form(expr, len(sizes)) for expr in index.results]
    if 0 not in sizes:
        ranges = [span(constant, sizes, line) for line, constant in forms]
        check_ranges(op, buffer, ranges, str(index))
    return linear_access(buffer, forms, len(sizes))


def linear_access(buffer: Buffer, forms: Sequence[tuple[Sequence[int], int]], count: int) -> Access:
    """The access with an index (coefficients, constant) for each dimension of the buffer."""
    offset, strides = buffer.offset, [0] * count
    for (line, constant), stride in zip(forms, buffer.strides, strict=True):
        offset += constant * stride
        strides = [s + c * stride for s, c in zip(strides, line, strict=True)]
    return Access(buffer, offset, tuple(strides))


def check_ranges(
    op: Operation, buffer: Buffer, ranges: Sequence[tuple[int, int]], text: str
) -> None:
    """Raises InarchError unless every index is within its dimension."""
    for axis, ((low, high), size) in enumerate(zip(ranges, buffer.shape, strict=True)):
        if low < 0 or high >= size:
            raise outside(
                op,
                f"expected indices from 0 to {size - 1} in dimension {axis} of {text}, "
                f"found {low} to {high}",
            )


def _reached(buffer: Buffer, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The part of the buffer, a range of each dimension, in which the indices lie."""
    return [
        (max(low, 0), min(high, size - 1))
        for (low, high), size in zip(ranges, buffer.shape, strict=True)
    ]


def with_garbage(
    op: Operation, frame: Frame, buffer: Buffer, box: Sequence[tuple[int, int]]
) -> Buffer:
    """The buffer; a copy with garbage where nothing has written it, if that is within `box`."""
    sizes = [max(high - low + 1, 0) for low, high in box]
    if buffer.tags is None or 0 in sizes:
        return buffer
    start = buffer.offset + sum(low * s for (low, _), s in zip(box, buffer.strides, strict=True))
    missing = buffer.unwritten(start, sizes, buffer.strides)
    if missing is None:
        return buffer
    parts = tuple(np.array(part) for part in buffer.parts)
    count = int(missing.sum())
    garbage = frame.state.unwritten_values(op, buffer.dtype, count)
    values = frame.domain.parts(frame.domain.exact(garbage))
    for number, (part, value) in enumerate(zip(parts, values, strict=True)):
        unknown = np.full(count, np.inf) if number == 1 else value  # the error of a bound
        strided(part, start, sizes, buffer.strides)[missing] = unknown
    return replace(buffer, parts=parts, tags=None)


def _padded(
    frame: Frame, buffer: Buffer, ranges: Sequence[tuple[int, int]], pad: float
) -> tuple[Buffer, list[int]]:
    """A copy of what the ranges reach, with `pad` outside of the buffer; and where it begins."""
    if all(
        low >= 0 and high < size for (low, high), size in zip(ranges, buffer.shape, strict=True)
    ):
        return buffer, [0] * len(ranges)
    shape = [high - low + 1 for low, high in ranges]
    filled = frame.domain.parts(frame.domain.exact(np.full(shape, pad).astype(buffer.dtype)))
    parts: list[Array] = []
    source = [slice(low, high + 1) for low, high in _reached(buffer, ranges)]
    target = [
        slice(max(-low, 0), max(-low, 0) + max(s.stop - s.start, 0))
        for (low, _), s in zip(ranges, source, strict=True)
    ]
    empty = any(s.stop <= s.start for s in source)
    for part, view in zip(
        filled, buffer.views(buffer.offset, buffer.shape, buffer.strides), strict=True
    ):
        whole = np.array(part)
        if not empty:
            whole[tuple(target)] = view[tuple(source)]
        parts.append(whole.reshape(-1))
    made = Buffer(tuple(parts), buffer.dtype, tuple(shape), row_major(shape))
    return made, [low for low, _ in ranges]


def picked(
    base: Access, read: ReadAttr, access_of: Callable[[int], Access | PickedAccess]
) -> Access | PickedAccess:
    """The access with the indices that are read, which are those of other operands."""
    if not read.is_indirect:
        return base
    picks: list[Pick] = []
    for axis, named in picks_of(read.map.data).items():
        index = access_of(named)
        assert isinstance(index, Access), "the verifier has seen to it"
        picks.append(Pick(index, base.buffer.shape[axis], base.buffer.strides[axis]))
    return PickedAccess(base, tuple(picks))
