"""Buffers of a loop program that is being generated, and which of their elements have been written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inarch.core.lazy import np
from inarch.ir.types import row_major

Mask = Any
"""An array of bools, of the shape of the buffer; those of views share memory, as the buffers do."""


@dataclass
class Buffer:
    """A buffer: its name and type in the text, and what is known of its contents."""

    name: str
    element: str
    shape: tuple[int, ...]
    root: str
    """The name of the buffer whose memory it is."""
    mask: Mask
    """Which elements may be read."""
    writable: bool
    strides: tuple[int, ...] = ()
    offset: int = 0

    @property
    def type(self) -> str:
        """Its memref type."""
        plain = self.offset == 0 and self.strides == row_major(self.shape)
        sizes = "x".join((*map(str, self.shape), self.element))
        if plain:
            return f"memref<{sizes}>"
        place = f", offset: {self.offset}" if self.offset else ""
        return f"memref<{sizes}, strided<[{', '.join(map(str, self.strides))}]{place}>>"

    def at(self, place: str) -> str:
        """An operand of a nest: `%b[i, j] : memref<2x3xf32>`."""
        return f"%{self.name}[{place}] : {self.type}"

    @property
    def is_dense(self) -> bool:
        """Whether it is row-major from its pointer on."""
        return self.offset == 0 and self.strides == row_major(self.shape)


def buffer(
    name: str, element: str, shape: Sequence[int], *, filled: bool, writable: bool
) -> Buffer:
    """A row-major buffer with memory of its own; `filled`: all of it may be read."""
    sizes = tuple(shape)
    mask = np.full(sizes, filled)
    return Buffer(name, element, sizes, name, mask, writable, row_major(sizes))


@dataclass
class RandomAccess:
    """An index of each dimension of a buffer: coefficients by iterator, and a constant."""

    terms: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    constants: list[int] = field(default_factory=list[int])
    picks: dict[int, tuple[int, RandomAccess]] = field(
        default_factory=dict[int, "tuple[int, RandomAccess]"]
    )
    """Dimension -> the operand whose element is the index there, and how that is read."""

    def text(self, names: Sequence[str]) -> str:
        """`i * 2 + j - 1, at(0)`."""
        return ", ".join(
            f"at({self.picks[d][0]})" if d in self.picks else index_text(form, constant, names)
            for d, (form, constant) in enumerate(zip(self.terms, self.constants, strict=True))
        )

    def indices(self, sizes: Sequence[int]) -> list[Any]:
        """Arrays that broadcast over the iterators: where each point is, dimension by dimension."""
        rank = len(sizes)
        found: list[Any] = []
        for form, constant in zip(self.terms, self.constants, strict=True):
            total: Any = np.full((1,) * rank, constant)
            for iterator, coefficient in form.items():
                line = np.arange(sizes[iterator]) * coefficient
                total = total + line.reshape([-1 if d == iterator else 1 for d in range(rank)])
            found.append(total)
        return found

    def span(self, dimension: int, sizes: Sequence[int]) -> tuple[int, int]:
        """The lowest and the highest index of a dimension."""
        low = high = self.constants[dimension]
        for iterator, coefficient in self.terms[dimension].items():
            reach = coefficient * (sizes[iterator] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def uses(self) -> set[int]:
        """The iterators that some index varies with."""
        own = {i for form in self.terms for i, coefficient in form.items() if coefficient}
        return own.union(*(access.uses() for _, access in self.picks.values()))


def index_text(form: dict[int, int], constant: int, names: Sequence[str]) -> str:
    """One index in the syntax of `loop.nest`.

    >>> index_text({0: 2, 1: -1}, 3, "ij")
    'i * 2 - j + 3'
    """
    text = ""
    for iterator, coefficient in form.items():
        if not coefficient:
            continue
        sign = "-" if coefficient < 0 else "+"
        times = "" if abs(coefficient) == 1 else f" * {abs(coefficient)}"
        joined = f" {sign} " if text else ("-" if sign == "-" else "")
        text += f"{joined}{names[iterator]}{times}"
    if not text:
        return str(constant)
    if constant:
        text += f" {'-' if constant < 0 else '+'} {abs(constant)}"
    return text


def readable(found: Buffer, access: RandomAccess, sizes: Sequence[int], *, padded: bool) -> bool:
    """Whether every element that the access reads, at all points, is inside and has been written."""
    if 0 in sizes:
        return True
    inside: Any = np.ones((1,) * len(sizes), bool)
    places: list[Any] = []
    for index, size in zip(access.indices(sizes), found.shape, strict=True):
        within = (index >= 0) & (index < size)
        inside = inside & within
        places.append(np.clip(index, 0, max(size - 1, 0)))
    if not padded and not inside.all():
        return False
    if 0 in found.shape:
        return not inside.any()
    known = found.mask[tuple(places)] if places else found.mask
    return bool(np.all(known | ~inside))


def write(found: Buffer, access: RandomAccess, sizes: Sequence[int]) -> None:
    """Marks what the access writes; what is outside is dropped."""
    if 0 in sizes or 0 in found.shape:
        return
    if not access.terms:
        found.mask[...] = True
        return
    indices = np.broadcast_arrays(*access.indices(sizes))
    inside = np.ones(indices[0].shape, bool)
    for index, size in zip(indices, found.shape, strict=True):
        inside &= (index >= 0) & (index < size)
    found.mask[tuple(index[inside] for index in indices)] = True


def elements(shape: Sequence[int]) -> int:
    """How many elements a shape has."""
    return math.prod(shape)
