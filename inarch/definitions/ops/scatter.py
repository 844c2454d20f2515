"""A `loop.nest` that writes at indices which it reads: the points of the scan one by one, the others at once.

No two points of one step meet (C4). An index that is outside, counted from the end where it is negative,
names no element: nothing is written there, whatever the point computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inarch.core.lazy import Array, np
from inarch.definitions.access import Access, Pick, PickedAccess, linear_access, with_garbage
from inarch.definitions.elements import Element
from inarch.definitions.frame import Frame
from inarch.definitions.ops.points import Points, place
from inarch.dialects.loop.indirect import base_of, picks_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.affine import linear_form


class Scattered:
    """The output: which element each point names, if any; `access_of` an operand that holds indices."""

    def __init__(
        self,
        op: NestOp,
        frame: Frame,
        points: Points,
        access_of: Callable[[int], Access | PickedAccess],
    ) -> None:
        self.op = op
        self.frame = frame
        self.points = points
        self.buffer = frame.buffer(op.outs[0])
        self.shape = points.parallel
        index, count = op.write_map(0), len(op.iterators)
        forms = [linear_form(expr, count) for expr in base_of(index).results]
        base = linear_access(self.buffer, forms, count).ordered(points.order)
        self._places = base.addresses([0] * count, self.shape)
        inside = np.ones(self.shape, bool)
        unsure = np.zeros(self.shape, bool)
        for axis, named in picks_of(index).items():
            read = access_of(named)
            assert isinstance(read, Access), "the verifier has seen to it"
            pick = Pick(
                read.ordered(points.order), self.buffer.shape[axis], self.buffer.strides[axis]
            )
            where = pick.index.addresses([0] * count, self.shape)
            for error in pick.index.buffer.parts[1:2]:
                unsure |= error[where] > 0
            found = pick.index.buffer.parts[0][where].astype(np.int64)
            found = np.where(found < 0, found + pick.size, found)
            inside &= (found >= 0) & (found < pick.size)
            self._places = self._places + found * pick.stride
        self._inside = inside
        self.inside: Array | None = inside
        self._unsure = unsure

    def places(self) -> Array:
        """The flat index of the element of each point; any where it is not `inside`."""
        return self._named(())

    def _named(self, box: tuple[slice, ...]) -> Array:
        return np.where(self._inside[box], self._places[box], self.buffer.offset)

    def run(self, reads: Sequence[Access | PickedAccess | None]) -> None:
        """Every point: `body` on what its element holds, then `finish`."""
        others = self.shape[1:] if self.op.has_scan else self.shape
        for step in range(self.shape[0] if self.op.has_scan else 1):
            starts = [step, *(0 for _ in others)] if self.op.has_scan else [0] * len(others)
            sizes = (1, *others) if self.op.has_scan else others
            self._step(reads, starts, sizes)

    def _step(
        self,
        reads: Sequence[Access | PickedAccess | None],
        starts: Sequence[int],
        sizes: Sequence[int],
    ) -> None:
        op, frame = self.op, self.frame
        box = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
        inside, places = self._inside[box], self._named(box)
        elements = [read.at(frame, starts, sizes) if read else None for read in reads]
        result = self._before(places)
        for region in op.regions:
            place(op, region.block, frame, self.points, starts, sizes)
            (result,) = frame.run(region.block, [*elements, result])
        parts = [np.broadcast_to(part, sizes) for part in frame.domain.parts(result)]
        self.buffer.put(places[inside], [part[inside] for part in parts])
        if self._unsure[box].any():  # any element may be what was written
            whole = self.buffer.views(self.buffer.offset, self.buffer.shape, self.buffer.strides)
            whole[1][...] = np.inf

    def _before(self, places: Array) -> Element:
        every = [(0, size - 1) for size in self.buffer.shape]
        buffer = with_garbage(self.op, self.frame, self.buffer, every)
        parts = [part[places] for part in buffer.parts]
        return self.frame.domain.element(parts, buffer.dtype)
