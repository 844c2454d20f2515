"""Which elements of a buffer nests write: an algorithm may leave some out, or write elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.memref import SubviewOp
from xdsl.ir import Operation, SSAValue

from inarch.core.lazy import Array, np
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.footprint import Form, Place, Touch, place_of
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.overlap import touches_of

_MOST = 1 << 26
"""Elements of a buffer of which each is looked at."""


def unwritten(buffer: SSAValue, ops: Sequence[Operation]) -> tuple[int, tuple[int, ...]] | None:
    """How many elements of a buffer none of `ops` writes, and the index of the first one.

    None where all are written, and where that is not known: an op is no nest, or where it writes is only
    known at run time. An access that is clipped counts as one of all that it may write.
    """
    own = place_of(buffer)
    if not own.is_known or math.prod(buffer_shape(own.buffer)) > _MOST:
        return None
    if not all(isinstance(op, NestOp | AllocOp | ConstantOp | ReshapeOp | SubviewOp) for op in ops):
        return None
    written = np.zeros(math.prod(buffer_shape(own.buffer)), np.bool_)
    for touch, place in _writes(ops):
        if place.buffer is own.buffer:
            form = touch.elements(place)
            if not place.is_known or not _mark(written, form):
                return None
    missing = ~_elements(written, own.elements)
    if not missing.any():
        return None
    first = np.unravel_index(int(missing.argmax()), missing.shape)
    return int(missing.sum()), tuple(map(int, first))


def written_among(buffers: Iterable[SSAValue], ops: Sequence[Operation]) -> int | None:
    """The position of the first one of `buffers` that one of `ops` writes to, through views too."""
    roots = [place_of(buffer).buffer for buffer in buffers]
    found = [roots.index(place.buffer) for _, place in _writes(ops) if place.buffer in roots]
    return min(found, default=None)


def _writes(ops: Sequence[Operation]) -> Iterator[tuple[Touch, Place]]:
    for op in ops:
        if isinstance(op, NestOp):
            yield from ((one, place_of(one.value)) for one in touches_of(op) if one.writes)


def _mark(written: Array, form: Form) -> bool:
    """Whether the elements are those of the buffer: what is outside of it the verifier will find."""
    if form.is_empty:
        return True
    low, high = form.span
    is_inside = low >= 0 and high < written.size
    if is_inside:
        _elements(written, form)[...] = True
    return is_inside


def _elements(flags: Array, form: Form) -> Array:
    """A view, with a dimension a variable; the form is inside."""
    return np.lib.stride_tricks.as_strided(flags[form.constant :], form.sizes, form.coefficients)
