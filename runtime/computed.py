"""Results of computed size: there is memory for the most, and another output says how much of it counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from inarch.core.errors import InarchError
from inarch.core.lazy import Array

Computed: TypeAlias = "Sequence[tuple[int, int]]"
"""Of an output, each axis of computed size with the number of the output that says how much of it counts."""


def shown(sizes: Sequence[Computed]) -> list[int]:
    """The outputs that callers get: those that say no size of another one."""
    numbers = {number for computed in sizes for _, number in computed}
    return [at for at in range(len(sizes)) if at not in numbers]


def counted(
    sizes: Sequence[Computed], arrays: Sequence[Array], *, copy: bool = False
) -> list[Array]:
    """What counts of each output that callers get; of those of computed size, views, or copies.

    Raises InarchError for a size that is more than there is, or negative: the code has a fault.
    """
    found = [(_part(arrays, sizes[at], at), bool(sizes[at]) and copy) for at in shown(sizes)]
    return [part.copy() if is_copied else part for part, is_copied in found]


def _part(arrays: Sequence[Array], computed: Computed, at: int) -> Array:
    array = arrays[at]
    for axis, number in computed:
        count, most = int(arrays[number]), array.shape[axis]
        if not 0 <= count <= most:
            raise InarchError(f"output {at}: expected a size of at most {most}, found {count}")
        array = array[(*(slice(None),) * axis, slice(count))]
    return array
