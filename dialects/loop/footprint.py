"""Where accesses lie in memory, and whether two of them can meet: C8 of a nest, C7 of a kernel's call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from inarch.dialects.loop.buffer import ReshapeOp
from inarch.dialects.loop.memory import buffer_shape, memref_of, strides_of
from inarch.ir.index.linear import Linear


@dataclass(frozen=True)
class Form:
    """The elements `constant + sum of coefficients[i] * x[i]`, for `0 <= x[i] < sizes[i]`."""

    coefficients: tuple[int, ...]
    sizes: tuple[int, ...]
    constant: int

    @property
    def is_empty(self) -> bool:
        """Whether it has no element."""
        return 0 in self.sizes

    @property
    def span(self) -> tuple[int, int]:
        """The least and the largest element; both are in it."""
        return _span(self)

    def moved(self, distance: int) -> Form:
        """The elements that are `distance` behind."""
        return Form(self.coefficients, self.sizes, self.constant + distance)


def _span(form: Form, step: int = 0) -> tuple[int, int]:
    """From where to where the constant and the terms run: all, or those that are no multiples of `step`."""
    low = high = form.constant
    for coefficient, size in zip(form.coefficients, form.sizes, strict=True):
        if step == 0 or coefficient % step != 0:
            span = coefficient * (size - 1)
            low, high = (low + span, high) if span < 0 else (low, high + span)
    return low, high


def span_of(forms: Iterable[Form]) -> tuple[int, int]:
    """The least and the largest element of one or more forms."""
    spans = [form.span for form in forms]
    return min(low for low, _ in spans), max(high for _, high in spans)


def are_disjoint(a: Form, b: Form) -> bool:
    """Whether the two provably have no element in common.

    For a step m, terms that are multiples of m fall away; what is left of each runs between two bounds.
    Elements can only be equal where these ranges meet modulo m. Every coefficient is tried as m, and
    their greatest common divisor (columns of a matrix, odd and even elements); first, none (ranges).

    >>> are_disjoint(Form((4, 1), (4, 2), 0), Form((4, 1), (4, 2), 2))  # two halves of rows of 4
    True
    >>> are_disjoint(Form((4, 1), (4, 3), 0), Form((4, 1), (4, 2), 2))
    False
    """
    if a.is_empty or b.is_empty:
        return True
    (low, high), (other_low, other_high) = a.span, b.span
    if high < other_low or other_high < low:
        return True
    moving = {abs(c) for f in (a, b) for c, n in zip(f.coefficients, f.sizes, strict=True) if n > 1}
    return any(_meet_nowhere(a, b, step) for step in {gcd(*moving), *moving} if step)


def _meet_nowhere(a: Form, b: Form, step: int) -> bool:
    low, high = _span(a, step)
    other_low, other_high = _span(b, step)
    # Is there a multiple of the step between the least and the largest difference?
    return (high - other_low) // step * step < low - other_high


def turns_apart(forms: Sequence[Form], axis: int) -> bool:
    """Whether, provably, no element is touched with two values of the variable at `axis`.

    The forms have their variables up to `axis` in common. An element tells the value as the digits of a
    number do: the coefficient at `axis` is more than all that is below it can reach, and so is that of each
    variable above it.

    >>> turns_apart([Form((16, 4, 1), (8, 4, 4), 0)], 1)  # tiles of 4 in rows of 16
    True
    >>> turns_apart([Form((16, 3, 1), (8, 4, 4), 0)], 1)  # that overlap by one
    False
    """
    constants = [form.constant for form in forms]
    for form in forms:
        own = abs(form.coefficients[axis])
        terms = zip(form.coefficients, form.sizes, strict=True)
        others = sorted((abs(c), n) for i, (c, n) in enumerate(terms) if c and n > 1 and i != axis)
        reach = max(constants) - min(constants) + sum(c * (n - 1) for c, n in others if c < own)
        if reach >= own:
            return False
        reach += own * (form.sizes[axis] - 1)
        for coefficient, size in ((c, n) for c, n in others if c >= own):
            if reach >= coefficient:
                return False
            reach += coefficient * (size - 1)
    return True


@dataclass(frozen=True)
class Place:
    """Where a view lies: its element (i, ...) is `offset + sum of strides * (i, ...)` of `buffer`."""

    buffer: SSAValue
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    is_known: bool = True
    """False where an offset is known at run time only."""

    @property
    def elements(self) -> Form:
        """All of its elements, as its buffer has them; where its place is not known, the whole buffer's."""
        if not self.is_known:
            strides, offset = strides_of(memref_of(self.buffer)) or ((), 0)
            return Form(strides, buffer_shape(self.buffer), offset)
        return Form(self.strides, self.shape, self.offset)

    @property
    def is_injective(self) -> bool:
        """Whether no two of its elements are one in memory, as far as sizes and strides tell."""
        if 0 in self.shape:  # its row-major strides are 0
            return True
        reached = 0
        steps = zip(self.strides, self.shape, strict=True)
        for stride, size in sorted((abs(s), n) for s, n in steps if n > 1):
            if stride <= reached:
                return False
            reached += stride * (size - 1)
        return True


Places = Mapping[SSAValue, Place]
"""Where the arguments of a function are for one call of it."""


class Overlapping(ABC):
    """An op whose operands must not be the same memory in every way: a nest, a call, a pack."""

    @abstractmethod
    def verify_overlaps(self, symbols: Mapping[str, Operation], places: Places) -> None:
        """Its constraint on that, where the buffers are where `places` say. Raises VerifyException."""


@dataclass(frozen=True)
class Touch:
    """What an op does with one of its buffers: reads, or writes, the elements at `index` over its points."""

    value: SSAValue
    writes: bool
    sizes: tuple[int, ...]
    """Of the op's iterators."""
    index: tuple[Linear, ...]
    """Over the iterators: an index a dimension; where it `is_flat`, elements from the buffer's element 0."""
    text: str = ""
    """Of the index, `[i, j + 1]`."""
    is_flat: bool = False
    is_exact: bool = True
    """Whether it touches all of these elements; else, some of them."""

    @classmethod
    def of_all(cls, value: SSAValue, *, writes: bool, is_exact: bool = False) -> Touch:
        """All elements of a buffer, or some."""
        shape = buffer_shape(value)
        index = tuple(Linear.iterator(axis, len(shape)) for axis in range(len(shape)))
        return cls(value, writes, shape, index, is_exact=is_exact)


class Touching(ABC):
    """An op that says which elements of its buffers it reads and writes: C4 of `loop.for` asks."""

    @abstractmethod
    def touches(self, symbols: Mapping[str, Operation]) -> Sequence[Touch]:
        """What it touches; of a write that depends on what was there, the write."""


def written_by_import(function: FuncOp) -> set[int]:
    """The arguments that an import writes: those that are marked `inarch.result`, or else the last."""
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    marked = {i for i, each in enumerate(attributes) if "inarch.result" in each.data}
    return marked or {len(function.function_type.inputs) - 1}


def place_of(value: SSAValue, places: Places | None = None) -> Place:
    """The place of a view in the buffer that it is part of, or in that which `places` say.

    A view's layout counts from element 0 of the buffer, through every view and call between.
    """
    found = strides_of(memref_of(value))
    strides, offset = found or ((), 0)
    is_known, root = found is not None, value
    while isinstance(owner := root.owner, ReshapeOp | memref.SubviewOp):
        is_known &= not (isinstance(owner, memref.SubviewOp) and owner.offsets)
        root = owner.source
    if places is not None and root in places:
        root, is_known = places[root].buffer, is_known and places[root].is_known
    return Place(root, buffer_shape(value), strides, offset, is_known)


def may_meet(a: Place, some: Iterable[Form], b: Place, others: Sequence[Form]) -> bool:
    """Whether one of `some` elements of a's buffer may be one of the `others` of b's."""
    if a.buffer is not b.buffer:
        return False
    if not a.is_known or not b.is_known:
        return True
    return any(not are_disjoint(one, other) for one in some for other in others)
