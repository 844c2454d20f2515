"""Accesses and views that lie in their buffers, whatever the inputs: `memref.load`, `store`, `subview`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.ir.index.follow import linear_index
from inarch.ir.index.span import Counts
from inarch.ir.types import MemRef, layout_of


def check_inside(op: Operation) -> None:
    """Raises VerifyException where an access or a view is outside of its buffer.

    Indices that are linear in constants and in arguments of `Counts` are followed. What is under a
    condition, or in a loop whose numbers are computed, is not: it may never happen.
    """
    if op.name in ("memref.load", "memref.store"):
        _check_access(op)
    elif op.name == "memref.subview":
        _check_view(op)


def _check_access(op: Any) -> None:
    shape: Sequence[int] = op.memref.type.get_shape()
    for axis, low, high in _ranges(op, op.indices):
        size = shape[axis]
        if size >= 0 and (low < 0 or high >= size):
            wanted = f"an index from 0 to {size - 1}" if size else "no access to a size of 0"
            raise VerifyException(
                f"expected {wanted} in dimension {axis}, found {_span(low, high)}"
            )


def _check_view(op: Any) -> None:
    """A window of static sizes and steps, with the strides and the offset that its type says."""
    source: MemRef = op.source.type
    shape, layout = tuple(source.get_shape()), layout_of(source)
    offsets, sizes, steps = (
        tuple(int(n) for n in each.get_values())
        for each in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    if DYNAMIC_INDEX in (*sizes, *steps) or not source.has_static_shape() or layout is None:
        return  # no op of ours takes the result
    if {len(offsets), len(sizes), len(steps)} != {len(shape)}:
        raise VerifyException(
            f"expected an offset, a size and a stride for each of {len(shape)} dimensions"
        )
    given = iter(op.offsets)
    starts = [next(given) if offset == DYNAMIC_INDEX else offset for offset in offsets]
    for axis, low, high in _ranges(op, starts):
        last = high + (sizes[axis] - 1) * steps[axis]
        if sizes[axis] and (low < 0 or last >= shape[axis]):
            raise VerifyException(
                f"expected a part of 0 to {shape[axis] - 1} in dimension {axis}, found {low} to {last}"
            )
    strides, begin = layout
    kept = kept_dimensions(sizes, tuple(op.result.type.get_shape()))
    wanted = tuple(steps[axis] * strides[axis] for axis in kept)
    moves = begin is None or DYNAMIC_INDEX in offsets
    place = (
        None if moves else (begin or 0) + sum(o * s for o, s in zip(offsets, strides, strict=True))
    )
    _check_type(op, [sizes[axis] for axis in kept], wanted, place)


def _check_type(op: Any, sizes: Sequence[int], strides: Sequence[int], place: int | None) -> None:
    kind: MemRef = op.result.type
    declared = layout_of(kind)
    if declared is None or list(kind.get_shape()) != list(sizes):
        raise VerifyException(f"expected a result of shape {list(sizes)}, found {kind}")
    same = all(a == b or n <= 1 for a, b, n in zip(declared[0], strides, sizes, strict=True))
    fits = declared[1] is None or declared[1] == place or 0 in sizes
    if not same or not fits:
        offset = "?" if place is None else place
        raise VerifyException(
            f"expected a result of strided<{list(strides)}, offset: {offset}>, found {kind}"
        )


def kept_dimensions(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The dimensions of a window's `sizes` that are those of its `shape`; the others have size 1.

    >>> kept_dimensions((1, 4, 1, 8), (4, 8))
    [1, 3]
    """
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        left, wanted = len(sizes) - axis, len(shape) - len(kept)
        if wanted and (size != 1 or shape[len(kept)] == 1 or left == wanted):
            kept.append(axis)
    return kept


def _ranges(op: Operation, indices: Iterable[SSAValue | int]) -> list[tuple[int, int, int]]:
    """`(axis, least, largest)` of each index that is known at each time that the op runs."""
    counted = _counted(op)
    if counted is None or not all(counted.values()):
        return []
    found: list[tuple[int, int, int]] = []
    for axis, index in enumerate(indices):
        form = {None: index} if isinstance(index, int) else linear_index(index, counted)
        if form is None:
            continue
        ends = [(c * counted[v][0], c * counted[v][-1]) for v, c in form.items() if v is not None]
        low, high = (form.get(None, 0) + sum(map(choose, ends)) for choose in (min, max))
        found.append((axis, low, high))
    return found


def _counted(op: Operation) -> dict[SSAValue, range] | None:
    """What the ops around `op` count; None where something else decides whether it runs."""
    found: dict[SSAValue, range] = {}
    inside = op
    while (parent := inside.parent_op()) is not None and parent.name != "func.func":
        numbers = parent.counted() if isinstance(parent, Counts) else None
        if numbers is None:
            return None
        found[parent.regions[0].blocks[0].args[0]] = numbers
        inside = parent
    blocks = parent.regions[0].blocks if parent is not None else ()
    return found if len(blocks) == 1 else None


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"
