"""A nest as numbers: axes with sizes and kinds, and for each access an offset and a stride an axis.

An axis is an iterator of more than one point, or several collapsed: `i` and `j` are one axis of
`size(i) * size(j)` points where every access moves by `size(j)` times as much along `i` as along `j`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from inarch.core.once import cached_property
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.buffer import is_constant
from inarch.dialects.loop.memory import memref_of, strides_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, linear_map
from inarch.ir.types import dtype_of
from inarch.passes.loop.nests.unmoved import served


@dataclass(frozen=True)
class Axis:
    """One or more iterators of one kind that run as one; `iterators` are positions, outermost first."""

    name: str
    size: int
    is_reduction: bool
    iterators: tuple[int, ...]


@dataclass(frozen=True)
class StridedAccess:
    """Element `offset + sum of strides[axis] * axis` of a buffer, counted from its element 0."""

    buffer: SSAValue
    offset: int
    strides: tuple[int, ...]
    indices: tuple[Linear, ...]
    """By dimension of the buffer, over the nest's iterators (not over its axes)."""
    is_inside: bool
    """Whether every point lies inside the buffer (a read with `pad`, a write with `clip` may not)."""
    iterations: int = 1
    """Of loops around the nest in which nothing writes the buffer: a copy is made once for all of them."""

    @cached_property
    def nbytes(self) -> int:
        """Of one element."""
        return dtype_of(memref_of(self.buffer).element_type).nbytes

    @cached_property
    def is_constant(self) -> bool:
        """Whether it is of a constant of the weights, so that packing it costs nothing at run time."""
        return is_constant(self.buffer)


@dataclass(frozen=True)
class StridedNest:
    """A nest with one output: its axes, its reads (in the order of `ins`) and its write."""

    nest: NestOp
    axes: tuple[Axis, ...]
    reads: tuple[StridedAccess, ...]
    write: StridedAccess

    @property
    def is_in_loop(self) -> bool:
        """Whether it is within another op of its function; what is in no program yet is in none."""
        parent = self.nest.parent_op()
        return parent is not None and not isinstance(parent, FuncOp)

    @property
    def accesses(self) -> tuple[StridedAccess, ...]:
        """The reads, then the write."""
        return (*self.reads, self.write)

    @cached_property
    def derived(self) -> dict[object, Any]:
        """What others have worked out of it, by what they are: each kernel looks at the nest again."""
        return {}


def strided_nest(nest: NestOp) -> StridedNest:
    """`nest`, which has one output and at least one point, as numbers; collapsed as far as it goes."""
    kept = [position for position, size in enumerate(nest.sizes) if size > 1]
    axes = [
        Axis(
            nest.names[position],
            nest.sizes[position],
            nest.iterators.data[position].is_reduction,
            (position,),
        )
        for position in kept
    ]
    reads = [
        _access(nest, value, linear_map(read.map.data), is_free=number_of(read.pad) is not None)
        for value, read in zip(nest.ins, nest.reads, strict=True)
    ]
    write = _access(
        nest, nest.outs[0], linear_map(nest.write_map(0)), is_free=nest.writes.data[0].clips
    )
    columns = [[access.strides[position] for access in (*reads, write)] for position in kept]
    axes, columns = _collapsed(axes, columns)
    rows = list(zip(*columns, strict=True)) or [() for _ in (*reads, write)]
    *ins, out = (
        replace(access, strides=strides)
        for access, strides in zip((*reads, write), rows, strict=True)
    )
    return StridedNest(nest, tuple(axes), tuple(ins), out)


def _access(
    nest: NestOp, buffer: SSAValue, indices: tuple[Linear, ...], *, is_free: bool
) -> StridedAccess:
    """With a stride for each iterator of the nest; the caller picks those of the axes."""
    strides = strides_of(memref_of(buffer))
    count = len(nest.iterators)
    moves = tuple(
        sum(stride * form.coefficients[i] for stride, form in zip(strides, indices, strict=True))
        for i in range(count)
    )
    offset = sum(stride * form.constant for stride, form in zip(strides, indices, strict=True))
    is_inside = not is_free or _lies_inside(nest, buffer, indices)
    around = served(nest, buffer)
    return StridedAccess(buffer, offset, moves, indices, is_inside, around)


def _lies_inside(nest: NestOp, buffer: SSAValue, indices: Sequence[Linear]) -> bool:
    spans = [form.bounds(nest.sizes) for form in indices]
    shape = memref_of(buffer).get_shape()
    return all(low >= 0 and high < size for (low, high), size in zip(spans, shape, strict=True))


def _collapsed(axes: list[Axis], columns: list[list[int]]) -> tuple[list[Axis], list[list[int]]]:
    """Axes that run as one are joined, until none are left; `columns` are strides by access."""
    joined = True
    while joined:
        joined = False
        for outer in range(len(axes)):
            for inner in range(len(axes)):
                if outer != inner and _runs_as_one(axes, columns, outer, inner):
                    axes[inner] = _join(axes[outer], axes[inner])
                    del axes[outer], columns[outer]
                    joined = True
                    break
            if joined:
                break
    return axes, columns


def _runs_as_one(
    axes: Sequence[Axis], columns: Sequence[Sequence[int]], outer: int, inner: int
) -> bool:
    size = axes[inner].size
    return axes[outer].is_reduction == axes[inner].is_reduction and all(
        a == b * size for a, b in zip(columns[outer], columns[inner], strict=True)
    )


def _join(outer: Axis, inner: Axis) -> Axis:
    return Axis(
        f"{outer.name}*{inner.name}",
        outer.size * inner.size,
        outer.is_reduction,
        (*outer.iterators, *inner.iterators),
    )
