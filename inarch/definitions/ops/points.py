"""The points of a `loop.nest` as the axes of arrays, and where they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from inarch.core.lazy import Array, np
from inarch.definitions.elements import without
from inarch.definitions.frame import Frame
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import points_of

_CHUNK = 1 << 18
"""Elements that are computed at once, at least where the parallel points are fewer."""


@dataclass(frozen=True)
class Points:
    """The iterators, reductions or the scan first, as axes: boxes of them are evaluated at once."""

    order: tuple[int, ...]
    """Axis -> iterator of the op."""
    reductions: tuple[int, ...]
    """Sizes."""
    parallel: tuple[int, ...]
    """The scan's is the first of them: each of its points has an element of the output, too."""

    @property
    def sizes(self) -> tuple[int, ...]:
        return (*self.reductions, *self.parallel)

    def chunks(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """`(starts, sizes)` of boxes of reduction points, in order."""
        room = max(_CHUNK // max(math.prod(self.parallel), 1), 1)
        steps = [1] * len(self.reductions)
        for axis in reversed(range(len(steps))):
            steps[axis] = min(self.reductions[axis], room)
            room //= max(self.reductions[axis], 1)
            if room <= 1:
                break
        ranges = [range(0, n, step) for n, step in zip(self.reductions, steps, strict=True)]
        for starts in itertools.product(*ranges):
            ends = zip(starts, steps, self.reductions, strict=True)
            yield starts, tuple(min(step, n - start) for start, step, n in ends)


def origin(points: Points) -> tuple[list[int], list[int]]:
    """The first point of the reductions, all parallel points."""
    ones = [1] * len(points.reductions)
    return [0] * len(points.order), [*ones, *points.parallel]


def place(
    op: NestOp,
    block: Block,
    frame: Frame,
    points: Points,
    starts: Sequence[int],
    sizes: Sequence[int],
) -> None:
    """What the `loop.point`s of a region are for a box; without the axes of a single reduction point."""
    rank = len(points.parallel) if math.prod(sizes[: len(points.reductions)]) == 1 else len(sizes)
    for point in points_of(block):
        line = point.over(op.names)
        total = np.full((1,) * len(sizes), line.constant, np.int64)
        for axis, (iterator, start, size) in enumerate(
            zip(points.order, starts, sizes, strict=True)
        ):
            steps = (start + np.arange(size)) * line.coefficients[iterator]
            total = total + steps.reshape([-1 if a == axis else 1 for a in range(len(sizes))])
        full = np.broadcast_to(total, tuple(sizes))
        frame.set(point, frame.domain.exact(without(np.array(full), rank)))


def inside_of(
    forms: Sequence[tuple[Sequence[int], int]], shape: Sequence[int], points: Points
) -> Array:
    """At which points every index is within its dimension."""
    sizes = [max(size, 1) for size in points.sizes]
    inside = np.ones((1,) * len(sizes), bool)
    for (line, constant), size in zip(forms, shape, strict=True):
        index = np.full((1,) * len(sizes), constant)
        for axis, iterator in enumerate(points.order):
            if line[iterator]:
                steps = np.arange(sizes[axis]) * line[iterator]
                index = index + steps.reshape([-1 if a == axis else 1 for a in range(len(sizes))])
        inside = inside & (index >= 0) & (index < size)
    return np.broadcast_to(inside, tuple(sizes))
