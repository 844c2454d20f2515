"""An access as indices over axes: by dimension of its buffer, or of the same memory in one dimension.

Collapsed axes have no linear index in the dimensions that they run over, but they have one in the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.dialects.loop.memory import buffer_shape, is_row_major, memref_of
from inarch.ir.index.linear import Linear
from inarch.passes.tensorize.unify.strided import StridedAccess, StridedNest


@dataclass(frozen=True)
class View:
    """`buffer[forms]`; the forms are over the axes of the nest. `flat`: of its memory in one dimension."""

    buffer: SSAValue
    shape: tuple[int, ...]
    forms: tuple[Linear, ...]
    is_flat: bool


def view_of(nest: StridedNest, access: StridedAccess) -> View | None:
    """An access of the nest as indices over the axes; None where there are none (strided and collapsed)."""
    key = view_of, next(at for at, own in enumerate(nest.accesses) if own is access)
    if key not in nest.derived:
        nest.derived[key] = _view_of(nest, access)
    return nest.derived[key]


def _view_of(nest: StridedNest, access: StridedAccess) -> View | None:
    moved = [axis for axis, stride in zip(nest.axes, access.strides, strict=True) if stride]
    shape = buffer_shape(access.buffer)
    if all(len(axis.iterators) == 1 for axis in moved):
        picked = [axis.iterators[-1] for axis in nest.axes]
        single = [len(axis.iterators) == 1 for axis in nest.axes]
        forms = tuple(
            Linear(
                tuple(
                    form.coefficients[i] if alone else 0
                    for i, alone in zip(picked, single, strict=True)
                ),
                form.constant,
            )
            for form in access.indices
        )
        return View(access.buffer, shape, forms, is_flat=False)
    if not is_row_major(memref_of(access.buffer)):
        return None
    total = 1
    for size in shape:
        total *= size
    return View(access.buffer, (total,), (Linear(access.strides, access.offset),), is_flat=True)


def substituted(view: View, axes: Sequence[Linear], count: int) -> tuple[Linear, ...]:
    """The forms where each axis is `axes[axis]` over `count` other iterators."""
    return tuple(form.substitute(axes, count) for form in view.forms)
