"""Tensors as strided views of dense memory, and the matrices that a BLAS can read in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.ir.types import row_major

BLASINT_MAX = 2**31 - 1
"""The package is built with 32-bit sizes."""


@dataclass(frozen=True)
class View:
    """Elements `strides . index` of the dense row-major tensor `value`."""

    value: SSAValue
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def of(value: SSAValue, shape: Sequence[int]) -> View:
        """All of `value`, read under `shape`, which has as many elements."""
        return View(value, tuple(shape), row_major(shape))

    def transposed(self, perm: Sequence[int]) -> View:
        """Dimension `d` of the result is dimension `perm[d]`."""
        return View(
            self.value,
            tuple(self.shape[axis] for axis in perm),
            tuple(self.strides[axis] for axis in perm),
        )

    def broadcast(self, shape: Sequence[int]) -> View:
        """Under the larger `shape`, as in NumPy: stride 0 where it repeats."""
        strides = broadcast_strides(self.shape, self.strides, shape)
        return View(self.value, tuple(shape), strides)


def broadcast_strides(
    old: Sequence[int], strides: Sequence[int], new: Sequence[int]
) -> tuple[int, ...]:
    """The strides under `new` of a tensor of shape `old`, which broadcasts to it: 0 to repeat.

    >>> broadcast_strides((3, 1), (1, 1), (2, 3, 4))
    (0, 1, 0)
    """
    missing = len(new) - len(old)
    sizes = zip(old, new[missing:], strides, strict=True)
    return (*[0] * missing, *(stride if a == b else 0 for a, b, stride in sizes))


@dataclass(frozen=True)
class Layout:
    """How a BLAS reads a matrix in row-major order: transposed or not, and its leading dimension."""

    transposed: bool
    leading: int


def matrix_layout(shape: Sequence[int], strides: Sequence[int]) -> Layout | None:
    """How the last two dimensions are a matrix for a BLAS; None when neither is contiguous.

    The leading dimension is at least the length of what is contiguous, and 1, as a BLAS demands.
    """
    (rows, columns), (row_stride, column_stride) = shape[-2:], strides[-2:]
    if column_stride == 1 or columns <= 1:
        return Layout(transposed=False, leading=max(row_stride if rows > 1 else 1, columns, 1))
    if row_stride == 1 or rows <= 1:
        return Layout(transposed=True, leading=max(column_stride, rows, 1))
    return None


def refuse_transpose(shape: Sequence[int], perm: Sequence[int]) -> str | None:
    """Why a BLAS cannot read a transposed tensor of `shape` where it stands; None when it can."""
    if len(shape) < 2:
        return f"rank is {len(shape)}; takes 2 or more"
    strides = row_major(shape)
    permuted = [strides[axis] for axis in perm]
    if matrix_layout([shape[axis] for axis in perm], permuted) is None:
        return f"perm is {list(perm)}, which leaves neither of the last two dimensions contiguous"
    return None


def refuse_sizes(*sizes: int) -> str | None:
    """Why sizes do not fit the BLAS's integers; None when they do."""
    large = max(sizes)
    return f"size {large} does not fit 32 bits" if large > BLASINT_MAX else None


@dataclass(frozen=True)
class Loop:
    """A batch dimension: how often, and the step of each tensor."""

    size: int
    steps: tuple[int, ...]


def batch_loops(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[Loop, ...]:
    """The loops over the dimensions `shape`, outermost first, of tensors with these strides.

    Dimensions of size 1 are left out, and neighbours that every tensor walks evenly are one loop.
    """
    loops: list[Loop] = []
    if math.prod(shape) == 0:
        return (Loop(0, (0,) * len(strides)),)
    for axis, size in enumerate(shape):
        steps = tuple(tensor[axis] for tensor in strides)
        if size == 1:
            continue
        if loops and loops[-1].steps == tuple(size * step for step in steps):
            loops[-1] = Loop(loops[-1].size * size, steps)
        else:
            loops.append(Loop(size, steps))
    return tuple(loops)
