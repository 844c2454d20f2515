"""Whether the order of a nest's parallel points matters: then the nest has no meaning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from xdsl.ir import Operation

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.definitions.access import Access, PickedAccess
from inarch.definitions.buffers import Buffer
from inarch.ir.location import location_text


class Writes(Protocol):
    """An output: where each parallel point writes."""

    buffer: Buffer
    inside: Array | None
    """Which points write; None: all."""
    shape: tuple[int, ...]

    def places(self) -> Array:
        """The flat index of each parallel point's element."""
        ...


def check_order(
    op: Operation,
    reads: Sequence[tuple[Access | PickedAccess, Array | None]],
    writes: Sequence[Writes],
    reductions: Sequence[int],
) -> None:
    """Raises InarchError when a point reads or writes what another point writes.

    `reads` have the axes of the reductions first, then those of the parallel points; each with the points
    at which it is within its buffer. Only memory that is shared is looked at.
    """
    for each in writes:
        near = [read for read in reads if read[0].buffer.shares_memory(each.buffer)]
        others = [o for o in writes if o is not each and o.buffer.shares_memory(each.buffer)]
        if near or others:
            _check_one(op, each, near, others, reductions)


def _check_one(
    op: Operation,
    write: Writes,
    reads: Sequence[tuple[Access | PickedAccess, Array | None]],
    others: Sequence[Writes],
    reductions: Sequence[int],
) -> None:
    """What one output writes against all that is read and written elsewhere."""
    base = _address(write.buffer)
    writer = np.full(write.buffer.parts[0].nbytes, -1, np.int64)
    numbers = np.arange(math.prod(write.shape)).reshape(write.shape)
    for cell in _cells(write.buffer, write.places(), base):
        writer[_chosen(cell, write.inside)] = _chosen(numbers, write.inside)
    for other in others:
        for cell in _cells(other.buffer, other.places(), base):
            _check(op, writer, cell, numbers, other.inside, "writes")
    shape = (*(max(size, 1) for size in reductions), *write.shape)
    for access, inside in reads:
        places = access.addresses([0] * len(shape), shape)
        for cell in _cells(access.buffer, places, base):
            _check(op, writer, cell, np.broadcast_to(numbers, shape), inside, "reads")


def _chosen(array: Array, inside: Array | None) -> Array:
    return array if inside is None else array[inside]


def _address(buffer: Buffer) -> int:
    return int(buffer.parts[0].ctypes.data)


def _cells(buffer: Buffer, places: Array, base: int) -> list[Array]:
    """The bytes of the elements, counted from `base`: one array for each byte of an element."""
    start = _address(buffer) - base
    size = buffer.parts[0].itemsize
    return [places * size + start + byte for byte in range(size)]


def _check(
    op: Operation, writer: Array, cells: Array, points: Array, inside: Array | None, verb: str
) -> None:
    reached = (cells >= 0) & (cells < writer.size)
    if inside is not None:
        reached &= inside
    found, own = writer[cells[reached]], points[reached]
    clash = (found >= 0) & (found != own)
    if clash.any():
        first = int(np.argmax(clash))
        raise InarchError(
            f"'{op.name}' has no meaning: point {int(own[first])} {verb} what point "
            f"{int(found[first])} writes, and parallel points run in any order; write into "
            "another buffer",
            where=location_text(op),
        )
