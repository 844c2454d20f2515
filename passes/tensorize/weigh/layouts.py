"""Buffers in the layout that a kernel demands: their shape, and the strides that come out.

The strides of a new buffer are dense: demanded ones as they are, in between and outside of them what the
extents give. So a demanded stride larger than what lies inside it makes the dimension inside longer,
and one that is at least so long is the shortest that fits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from inarch.microkernel import AtLeast, KnownDemand


@dataclass(frozen=True)
class PackedLayout:
    """A dense row-major block: `shape` by the dimensions `order` of the operand (None: padding)."""

    shape: tuple[int, ...]
    order: tuple[int | None, ...]
    strides: tuple[int, ...]
    """By dimension of the operand."""

    @property
    def elements(self) -> int:
        """Of one block."""
        return math.prod(self.shape)


def dense_layout(
    extents: Sequence[int], demanded: Sequence[KnownDemand], multiple: int
) -> PackedLayout | None:
    """A block for `extents`, whose strides are as demanded; its size is a multiple of `multiple`.

    None: the demanded strides overlap, or no dense block has them.
    """
    fixed = sorted(
        (stride, axis)
        for axis, stride in enumerate(demanded)
        if isinstance(stride, int) and extents[axis] > 1
    )
    shape: list[int] = []
    order: list[int | None] = []
    total = 1
    for stride, axis in fixed:
        if stride < total or stride <= 0:
            return None
        if stride > total and not _lengthen(shape, order, stride):
            return None
        shape.append(extents[axis])
        order.append(axis)
        total = stride * extents[axis]
    strides = [stride if isinstance(stride, int) else 0 for stride in demanded]
    least = {
        axis: stride.least if isinstance(stride, AtLeast) else 0
        for axis, stride in reversed(list(enumerate(demanded)))
        if not isinstance(stride, int)
    }
    while least:
        # The last dimension whose stride is long enough here, else the one that lacks least.
        axis = min(least, key=lambda each: max(least[each], total))
        wanted = least.pop(axis)
        if extents[axis] == 1:
            strides[axis] = max(total, wanted)
        else:
            total = _lengthened(shape, order, total, wanted)
            strides[axis] = total
        shape.append(extents[axis])
        order.append(axis)
        total *= extents[axis]
    if total % multiple:
        unit = math.lcm(total // (shape[-1] if shape else 1), multiple)
        _lengthen(shape, order, -(-total // unit) * unit)
    return PackedLayout(tuple(reversed(shape)), tuple(reversed(order)), tuple(strides))


def _lengthened(shape: list[int], order: list[int | None], total: int, least: int) -> int:
    """The least number of elements of at least `least` that the block can have; it has them then."""
    inside = math.prod(shape[: _outermost(shape)])
    found = max(total, -(-least // inside) * inside)
    if found > total:
        _lengthen(shape, order, found)
    return found


def _lengthen(shape: list[int], order: list[int | None], total: int) -> bool:
    """Makes the outermost dimension so long that the block has `total` elements, if that is possible."""
    if not shape:
        shape.append(total)
        order.append(None)
        return True
    outermost = _outermost(shape)
    inside = math.prod(shape[:outermost])
    if total % inside:
        return False
    shape[outermost] = total // inside
    return True


def _outermost(shape: Sequence[int]) -> int:
    """The position of the last dimension that is not 1: those behind it may as well stay so."""
    return max((at for at, size in enumerate(shape) if size > 1), default=len(shape) - 1)
