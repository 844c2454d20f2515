"""Where accesses lie in memory, and whether two of them can meet: C8 of a nest, C7 of a kernel's call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from inarch.dialects.loop.buffer import ReshapeOp
from inarch.dialects.loop.dependence.equations import Equation, solve
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.ir.index.linear import Linear
from inarch.ir.types import layout_of


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
        return Linear(self.coefficients, self.constant).bounds(self.sizes)

    def moved(self, distance: int) -> Form:
        """The elements that are `distance` behind."""
        return Form(self.coefficients, self.sizes, self.constant + distance)


def span_of(forms: Iterable[Form]) -> tuple[int, int]:
    """The least and the largest element of one or more forms."""
    spans = [form.span for form in forms]
    return min(low for low, _ in spans), max(high for _, high in spans)


def are_disjoint(a: Form, b: Form) -> bool:
    """Whether the two provably have no element in common: `a - b = 0` has no solution between the bounds.

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
    factors = (*a.coefficients, *(-each for each in b.coefficients))
    terms = tuple((at, factor) for at, factor in enumerate(factors) if factor)
    ranges = [(0, size - 1) for size in (*a.sizes, *b.sizes)]
    return solve([Equation(terms, a.constant - b.constant)], ranges) is None


def iterations_apart(forms: Sequence[Form], axis: int) -> bool:
    """Whether, provably, no element is touched with two values of the variable at `axis`.

    The forms have their variables up to `axis` in common. An element tells the value as the digits of a
    number do: the coefficient at `axis` is more than all that is below it can reach, and so is that of each
    variable above it.

    >>> iterations_apart([Form((16, 4, 1), (8, 4, 4), 0)], 1)  # tiles of 4 in rows of 16
    True
    >>> iterations_apart([Form((16, 3, 1), (8, 4, 4), 0)], 1)  # that overlap by one
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
    moves: frozenset[tuple[SSAValue, int]] | None = frozenset()
    """What more it is moved by, `sum of value * factor`, at run time; None: that is not known.

    A value is the same number for all operands of an op.
    """

    @property
    def is_known(self) -> bool:
        """Whether it is the same at all times."""
        return self.moves is not None and not self.moves

    @property
    def elements(self) -> Form:
        """All of its elements, but for what it is moved by at run time."""
        return Form(self.strides, self.shape, self.offset)

    @property
    def somewhere(self) -> Form:
        """The elements of its buffer: some of them are its own."""
        strides, offset = layout_of(memref_of(self.buffer)) or ((), 0)
        return Form(strides, buffer_shape(self.buffer), offset or 0)

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

    def elements(self, place: Place) -> Form:
        """What it touches of the buffer that `place`, its value's, is of."""
        strides = (1,) if self.is_flat else place.strides
        flat = Linear((0,) * len(self.sizes), place.offset)
        for form, stride in zip(self.index, strides, strict=True):
            flat = flat.plus(form.times(stride))
        return Form(flat.coefficients, self.sizes, flat.constant)


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

    A static offset of a layout counts from element 0 of the buffer, through every view and call between.
    """
    shape = buffer_shape(value)
    strides, offset = layout_of(memref_of(value)) or ((), None)
    root, moved = value, 0
    moves: dict[SSAValue, int] | None = {}
    while isinstance(owner := root.owner, ReshapeOp | memref.SubviewOp):
        if isinstance(owner, memref.SubviewOp) and offset is None:
            moved += _moved(owner, moves) if moves is not None else 0
            moves = None if owner.sizes or owner.strides else moves
        root = owner.source
        if offset is None and (start := _start(root)) is not None:
            offset = start + moved  # it lies at that place of its buffer
    outer = None if places is None else places.get(root)
    if offset is None:  # from an argument whose place its caller knows
        offset = moved if outer is None else moved + outer.offset
        for each, factor in (outer.moves or ()) if outer is not None else ():
            if moves is not None:
                moves[each] = moves.get(each, 0) + factor
        moves = None if outer is not None and outer.moves is None else moves
    if outer is not None:
        root = outer.buffer
    known = None if moves is None else frozenset((v, by) for v, by in moves.items() if by)
    return Place(root, shape, strides, offset, known)


def _start(value: SSAValue) -> int | None:
    layout = layout_of(memref_of(value))
    return None if layout is None else layout[1]


def _moved(op: memref.SubviewOp, moves: dict[SSAValue, int]) -> int:
    """By how many elements of the buffer a view lies behind its source; what is no number goes to `moves`."""
    strides, _ = layout_of(memref_of(op.source)) or ((), None)
    dynamic = iter(op.offsets)
    total = 0
    for offset, stride in zip(op.static_offsets.get_values(), strides, strict=False):
        if offset == DYNAMIC_INDEX:
            value = next(dynamic)
            moves[value] = moves.get(value, 0) + stride
        else:
            total += int(offset) * stride
    return total


def may_meet(a: Place, some: Iterable[Form], b: Place, others: Sequence[Form]) -> bool:
    """Whether one of `some` elements of a's buffer may be one of the `others` of b's."""
    if a.buffer is not b.buffer:
        return False
    if a.moves is None or a.moves != b.moves:
        return True
    return any(not are_disjoint(one, other) for one in some for other in others)
