"""Memory as definitions see it: buffers of elements, of which each knows whether it was written.

A buffer is a strided window onto flat arrays (one, or four with bounds). Memory of a `loop.alloc`
carries, for each element (each byte, in a planned workspace), the tag of the buffer that wrote it
last: reading an element with another tag reads what nothing wrote, or what another buffer wrote
over it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from inarch.core.lazy import Array, np
from inarch.definitions.bounded import Bounded
from inarch.definitions.elements import Element
from inarch.ir.types import row_major


class Domain(Protocol):
    """What elements are: numbers, or numbers with bounds."""

    keeps_offsets: bool
    """Whether planned buffers share one workspace, as their offsets say."""

    def exact(self, array: Array) -> Element:
        """A constant."""
        ...

    def parts(self, element: Element) -> tuple[Array, ...]:
        """The arrays of an element, all of its shape."""
        ...

    def element(self, parts: Sequence[Array], dtype: np.dtype[Any]) -> Element:
        """The inverse of `parts`."""
        ...


class Numbers:
    """Elements are NumPy arrays."""

    keeps_offsets = True

    def exact(self, array: Array) -> Element:
        return array

    def parts(self, element: Element) -> tuple[Array, ...]:
        return (np.asarray(element),)

    def element(self, parts: Sequence[Array], dtype: np.dtype[Any]) -> Element:
        return parts[0]


@dataclass(frozen=True)
class Bounds:
    """Elements are `Bounded`s. A workspace's bytes have no bounds: every buffer has memory of its own."""

    kind: type[Bounded] = Bounded
    keeps_offsets = False

    def exact(self, array: Array) -> Element:
        return self.kind.exact(array)

    def parts(self, element: Element) -> tuple[Array, ...]:
        shape = element.shape
        every = (element.value, element.error, element.magnitude, element.roundings)
        count = 4 if element.is_float else 2
        return tuple(np.broadcast_to(part, shape) for part in every[:count])

    def element(self, parts: Sequence[Array], dtype: np.dtype[Any]) -> Element:
        if len(parts) == 2:
            return self.kind.whole(*parts)
        return self.kind(dtype, *parts)


@dataclass(frozen=True)
class Buffer:
    """A window onto memory: element `i` is at `offset + sum of i[d] * strides[d]` of the flat `parts`."""

    parts: tuple[Array, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    tags: Array | None = None
    """Who wrote each element (or each of its bytes); None: memory that always holds something."""
    tag: int = 0

    def window(
        self, shape: Sequence[int], strides: Sequence[int], offset: int, dtype: Any = None
    ) -> Buffer:
        """Another window onto the same memory."""
        return replace(
            self,
            shape=tuple(shape),
            strides=tuple(strides),
            offset=offset,
            dtype=dtype or self.dtype,
        )

    def views(self, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> list[Array]:
        """The parts at `offset + linear form`, as arrays of shape `sizes` that share the memory."""
        return [strided(part, offset, sizes, strides) for part in self.parts]

    def unwritten(self, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> Array | None:
        """Which of those elements nothing of this buffer has written; None: all were."""
        if self.tags is None:
            return None
        found = strided(self.tags, offset, sizes, strides)
        missing = found != self.tag
        if missing.ndim > len(sizes):  # a byte each
            missing = missing.any(axis=-1)
        return missing if missing.any() else None

    def has_unwritten(self, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> bool:
        """Whether there is any; iterators that move nothing are not gone through."""
        moving = [(size, stride) for size, stride in zip(sizes, strides, strict=True) if stride]
        return (
            self.unwritten(offset, *zip(*moving, strict=True) if moving else ((), ())) is not None
        )

    def mark(self, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> None:
        """Notes that those elements were written."""
        if self.tags is not None:
            strided(self.tags, offset, sizes, strides)[...] = self.tag

    def put(self, indices: Array, parts: Sequence[Array]) -> None:
        """Writes the elements at flat `indices`, of any shape."""
        for part, values in zip(self.parts, parts, strict=True):
            part[indices] = values
        if self.tags is not None:
            self.tags[indices] = self.tag

    def shares_memory(self, other: Buffer) -> bool:
        """Whether the two may have an element in common."""
        return bool(np.may_share_memory(self.parts[0], other.parts[0]))


def broadcast(domain: Domain, element: Element, shape: Sequence[int]) -> Element:
    """The element with every part of that shape."""
    parts = [np.broadcast_to(part, tuple(shape)) for part in domain.parts(element)]
    return domain.element(parts, element.dtype)


def strided(flat: Array, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> Array:
    """Elements of `flat` by a linear form; a second dimension of `flat`, the bytes, stays last."""
    step = flat.strides[0]
    return np.lib.stride_tricks.as_strided(
        flat[offset:],
        (*sizes, *flat.shape[1:]),
        (*(stride * step for stride in strides), *flat.strides[1:]),
    )


def span(offset: int, sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The least and the largest index of a linear form."""
    spans = [stride * (size - 1) for stride, size in zip(strides, sizes, strict=True)]
    return offset + sum(min(s, 0) for s in spans), offset + sum(max(s, 0) for s in spans)


def new_buffer(
    domain: Domain, dtype: np.dtype[Any], shape: Sequence[int], tag: int | None = None
) -> Buffer:
    """A row-major buffer; with a tag its elements count as unwritten, else they are 0."""
    count = math.prod(shape)
    zeros = domain.exact(np.zeros(count, dtype))
    parts = tuple(np.array(part) for part in domain.parts(zeros))
    tags = None if tag is None else np.zeros(count, np.int32)
    return Buffer(parts, dtype, tuple(shape), row_major(shape), 0, tags, tag or 0)


def buffer_of(domain: Domain, array: Array, error: Array | None = None) -> Buffer:
    """A row-major buffer that holds a copy of `array`, whose elements may be off by `error`."""
    element = domain.exact(array) if error is None else Bounded.near(array, error)
    parts = tuple(np.array(part).reshape(-1) for part in domain.parts(element))
    return Buffer(parts, array.dtype, array.shape, row_major(array.shape))


def contents(domain: Domain, buffer: Buffer) -> Element:
    """What a buffer holds."""
    views = buffer.views(buffer.offset, buffer.shape, buffer.strides)
    return domain.element([np.array(view) for view in views], buffer.dtype)
