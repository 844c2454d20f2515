"""Strides for an operand: those that its layout demands, and others where any will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from inarch.core.lazy import np
from inarch.microkernel import AtLeast, KnownDemand

Arrangement = Literal["packed", "padded", "reversed", "overlapping", "random"]
"""How the dimensions of free stride lie.

    packed       row-major, nothing between
    padded       row-major, with gaps between rows and between elements
    reversed     the first dimension is the fastest, with gaps
    overlapping  elements share memory (strides 0, 1 ...), as windows do; only where all is read
    random       any order, any gaps

None is negative: tensorize packs what runs backwards.
"""
ARRANGEMENTS: tuple[Arrangement, ...] = ("packed", "padded", "reversed", "overlapping", "random")

_MOST_PADDING = 5
_FAR = 301
_MOST_FAR = 16
"""So many rows are put far apart at most: what lies between them is copied and compared too."""


def arrange(
    shape: Sequence[int],
    demanded: Sequence[KnownDemand],
    arrangement: Arrangement,
    random: np.random.Generator,
) -> tuple[int, ...]:
    """Strides in elements for an operand of `shape` that are as demanded.

    No two elements meet, unless the demands make them, or for `overlapping`.
    """
    strides = [stride if isinstance(stride, int) else 0 for stride in demanded]
    least = [stride.least if isinstance(stride, AtLeast) else 0 for stride in demanded]
    free = [axis for axis, stride in enumerate(demanded) if not isinstance(stride, int)]
    if arrangement == "overlapping":
        for axis in free:
            strides[axis] = least[axis] + int(random.integers(0, 4))
        return tuple(strides)
    order: list[int] = free if arrangement == "reversed" else free[::-1]
    if arrangement == "random":
        order = [free[int(i)] for i in random.permutation(len(free))]
    span = 1 + sum(
        abs(stride) * (size - 1)
        for size, stride in zip(shape, demanded, strict=True)
        if isinstance(stride, int)
    )
    for axis in order:
        # A gap after each element of the dimension, so that steps over it show.
        pad = 0 if arrangement == "packed" else int(random.integers(1, _MOST_PADDING + 1))
        # Rows of a large matrix: more than a byte holds.
        if pad == 1 and axis == order[-1] and shape[axis] <= _MOST_FAR:
            pad = _FAR
        strides[axis] = max(span, least[axis]) + pad
        span += strides[axis] * (shape[axis] - 1)
    return tuple(strides)
