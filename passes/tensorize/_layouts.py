"""Buffers in the layout that a kernel demands: their shape, and the strides that come out.

The strides of a new buffer are dense: demanded ones as they are, in between and outside of them what the
extents give. So a demanded stride larger than what lies inside it makes the dimension inside longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
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
    extents: Sequence[int], demanded: Sequence[int | None], multiple: int
) -> Layout | None:
    """A block for `extents`, whose strides are those demanded; its size is a multiple of `multiple`.

    None: the demanded strides overlap, or no dense block has them.
    """
    fixed = sorted(
        (stride, axis)
        for axis, stride in enumerate(demanded)
        if stride is not None and extents[axis] > 1
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
    strides = [stride if stride is not None else 0 for stride in demanded]
    for axis in reversed(range(len(extents))):
        if demanded[axis] is None:
            strides[axis] = total
            shape.append(extents[axis])
            order.append(axis)
            total *= extents[axis]
    if total % multiple:
        unit = math.lcm(total // (shape[-1] if shape else 1), multiple)
        _lengthen(shape, order, -(-total // unit) * unit)
    return Layout(tuple(reversed(shape)), tuple(reversed(order)), tuple(strides))


def _lengthen(shape: list[int], order: list[int | None], total: int) -> bool:
    """Makes the outermost dimension so long that the block has `total` elements, if that is possible."""
    if not shape:
        shape.append(total)
        order.append(None)
        return True
    inside = math.prod(shape[:-1])
    if total % inside:
        return False
    shape[-1] = total // inside
    return True
