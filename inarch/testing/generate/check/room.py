"""Memory for the arrays of compiled code: a copy of each, with guard bytes around it."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.definitions.functions import Array
from inarch.runtime.function import Function

GUARD = 256
"""Bytes before and behind every array, in which nothing may change."""
_GARBAGE = 0xA5


class Room:
    """A copy of an array with guard bytes around it; element-aligned and no more, unless `aligned`."""

    def __init__(self, content: Array, *, aligned: bool = False) -> None:
        self.content = content
        size = content.nbytes
        self.raw = np.full(size + 2 * GUARD + 128, _GARBAGE, np.uint8)
        start = -(self.raw.ctypes.data + GUARD) % 64 + GUARD
        start += 0 if aligned else content.itemsize
        self.begin, self.end = start, start + size
        self.array = self.raw[self.begin : self.end].view(content.dtype).reshape(content.shape)
        self.array[...] = content

    @property
    def address(self) -> int:
        """Of the first element."""
        return self.raw.ctypes.data + self.begin

    def check(self, what: str, before: Array | None, unchanged: bool) -> None:
        """Raises InarchError where a guard was written to, or, `unchanged`, `what` is not as `before`."""
        if not (self.raw[: self.begin] == _GARBAGE).all():
            raise InarchError(f"the compiled code has written before {what}")
        if not (self.raw[self.end :] == _GARBAGE).all():
            raise InarchError(f"the compiled code has written behind {what}")
        if unchanged and before is not None and self.array.tobytes() != before.tobytes():
            raise InarchError(f"the compiled code has written to {what}")


def called(function: Function, arrays: Sequence[Array]) -> list[Array]:
    """The outputs. Raises InarchError where something beyond them, or an input, is written."""
    given = [Room(np.ascontiguousarray(array).reshape(array.shape)) for array in arrays]
    made = [
        Room(np.full(port.shape, _GARBAGE, np.uint8).astype(port.dtype.numpy))
        for port in function.signature.outputs
    ]
    function(*(room.array for room in given), out=[room.array for room in made])
    for number, (room, array) in enumerate(zip(given, arrays, strict=True)):
        room.check(f"input {number} of @{function.name}", array, unchanged=True)
    for number, room in enumerate(made):
        room.check(f"output {number} of @{function.name}", None, unchanged=False)
    return [room.array.copy() for room in made]
