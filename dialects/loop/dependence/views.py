"""Where a view's elements lie, as linear forms: through subviews whose offsets loops count, and reshapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, StridedLayoutAttr
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import SSAValue

from inarch.core.once import cached_property
from inarch.dialects.loop.footprint import Place
from inarch.dialects.loop.memory import MemRef, memref_of
from inarch.ir.index.inside import kept_dimensions
from inarch.ir.types import row_major

Variable: TypeAlias = SSAValue | int
"""What a loop counts, or a value that stays the same while a loop runs; a number: an iterator of the op."""


@dataclass(frozen=True)
class Affine:
    """`constant + sum of factor * variable`; no factor is 0."""

    terms: frozenset[tuple[Variable, int]]
    constant: int

    @classmethod
    def of(cls, terms: Iterable[tuple[Variable, int]], constant: int) -> Affine:
        """The sum of `terms`, whose variables are distinct."""
        return cls(frozenset((v, factor) for v, factor in terms if factor), constant)

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """`self + factor * other`."""
        total = dict(self.terms)
        for variable, each in other.terms:
            total[variable] = total.get(variable, 0) + factor * each
        return Affine.of(total.items(), self.constant + factor * other.constant)


NOTHING = Affine(frozenset(), 0)


@dataclass(frozen=True)
class Frame:
    """What indices count: element `(i, ...)` is `base + sum of strides * (i, ...)` of the buffer."""

    buffer: SSAValue
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    base: Affine | None
    """None: somewhere in the buffer."""

    @cached_property
    def is_injective(self) -> bool:
        """Whether different indices that are inside are different memory."""
        known = len(self.strides) == len(self.shape)
        return known and Place(self.buffer, self.shape, self.strides, 0).is_injective

    def address(self, indices: Sequence[Affine | None] | None) -> Affine | None:
        """The element at `indices`, from the buffer's first; None where one of them is not known."""
        total = self.base
        if indices is None or len(indices) != len(self.strides):
            return None
        for index, stride in zip(indices, self.strides, strict=True):
            total = None if total is None or index is None else total.plus(index, stride)
        return total


@dataclass(frozen=True)
class View:
    """Part of a frame: along its dimension n, from `starts[n]`, `steps[n]` for each index along `axes[n]`."""

    frame: Frame
    starts: tuple[Affine | None, ...]
    steps: tuple[int, ...]
    axes: tuple[int | None, ...]
    """The view's dimension that runs along one of the frame; None: it is at its start there."""

    def at(self, indices: Sequence[Affine | None]) -> tuple[Affine | None, ...]:
        """The frame's indices of one of its elements."""
        found: list[Affine | None] = []
        for start, step, axis in zip(self.starts, self.steps, self.axes, strict=True):
            index = NOTHING if axis is None else indices[axis]
            found.append(None if start is None or index is None else start.plus(index, step))
        return tuple(found)

    @property
    def base(self) -> Affine | None:
        """Its element 0, from the buffer's first."""
        return self.frame.address(self.at([NOTHING] * len(self.axes)))


def whole(value: SSAValue, buffer: SSAValue | None = None, base: Affine | None = NOTHING) -> View:
    """All of a buffer, or of a part of `buffer` that starts at `base`, as `value`'s type has it."""
    kind = memref_of(value)
    shape, strides = tuple(kind.get_shape()), _strides(kind)
    frame = Frame(buffer or value, shape, strides or (), base if strides is not None else None)
    return View(frame, (NOTHING,) * len(shape), (1,) * len(shape), tuple(range(len(shape))))


def part(op: SubviewOp, source: View, dynamic: Sequence[Affine | None]) -> View:
    """The subview of `source`, whose offsets that are no numbers are `dynamic`, in the same frame."""
    given = iter(dynamic)
    offsets: list[Affine | None] = [
        next(given) if offset == DYNAMIC_INDEX else Affine.of((), int(offset))
        for offset in op.static_offsets.get_values()
    ]
    steps = [int(step) for step in op.static_strides.get_values()]
    sizes = [int(size) for size in op.static_sizes.get_values()]
    shape = tuple(memref_of(op.result).get_shape())
    kept = kept_dimensions(sizes, shape)
    if DYNAMIC_INDEX in (*sizes, *steps) or tuple(sizes[axis] for axis in kept) != shape:
        return whole(op.result, source.frame.buffer, None)
    starts: list[Affine | None] = list(source.at(offsets))
    own = [1 if axis is None else steps[axis] for axis in source.axes]
    axes = [kept.index(axis) if axis in kept else None for axis in source.axes]
    by = tuple(a * b for a, b in zip(source.steps, own, strict=True))
    made = View(source.frame, tuple(starts), by, tuple(axes))
    return made if _is_as_declared(op, made) else whole(op.result, source.frame.buffer, None)


def _is_as_declared(op: SubviewOp, made: View) -> bool:
    """Whether the type says of the strides and the offset what the op does: else it has no meaning."""
    kind = memref_of(op.result)
    declared = _strides(kind)
    if declared is None:
        return False
    by_axis = {
        axis: step * stride
        for axis, step, stride in zip(made.axes, made.steps, made.frame.strides, strict=True)
    }
    shape = kind.get_shape()
    if any(declared[axis] != by_axis.get(axis) for axis, n in enumerate(shape) if n > 1):
        return False
    layout = kind.layout
    offset = layout.get_offset() if isinstance(layout, StridedLayoutAttr) else 0
    first = _first(made.frame.buffer)
    return offset is None or made.base == Affine.of((), offset - first)


def _first(buffer: SSAValue) -> int:
    """The place of a buffer's element 0, from its pointer."""
    layout = memref_of(buffer).layout
    return (layout.get_offset() or 0) if isinstance(layout, StridedLayoutAttr) else 0


def _strides(kind: MemRef) -> tuple[int, ...] | None:
    """In elements, also where the offset is dynamic; None where they are not known."""
    shape = tuple(kind.get_shape())
    if any(size < 0 for size in shape):
        return None
    if isinstance(kind.layout, NoneAttr):
        return row_major(shape)
    if not isinstance(kind.layout, StridedLayoutAttr):
        return None
    strides = [stride for stride in kind.layout.get_strides() if stride is not None]
    return tuple(strides) if len(strides) == len(shape) else None
