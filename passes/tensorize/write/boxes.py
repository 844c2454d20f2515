"""The points of a piece as boxes of iterators: what nests before and after a call run over."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from inarch.ir.index.linear import Linear
from inarch.passes.tensorize.unify.strided import Axis
from inarch.passes.tensorize.weigh.tiles import Cut, Piece


@dataclass(frozen=True)
class Box:
    """`sizes` by iterator; over them, the axes, the loops by axis, and the meaning's iterators."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    axes: tuple[Linear, ...]
    loops: tuple[Linear, ...]
    points: dict[str, Linear]
    """Iterator of the meaning that takes an axis -> its value."""


@dataclass(frozen=True)
class _Part:
    """Iterators of a part of one axis, and the numbers that are added."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    loop: int | None
    """The position of the loop among them, if the part has one."""
    starts: tuple[int, ...]
    """Of the meaning's iterators."""


def boxes(axes: Sequence[Axis], piece: Piece) -> Iterator[Box]:
    """Boxes that cover the points of the parallel axes in `piece`, without those beyond the end."""
    parts = [
        list(_parts(axis, cut)) if not axis.is_reduction else [None]
        for axis, cut in zip(axes, piece.cuts, strict=True)
    ]
    for choice in product(*parts):
        yield _box(piece, choice)


def _parts(axis: Axis, cut: Cut) -> Iterator[_Part]:
    name = axis.name.replace("*", "_")
    loop = ((f"{name}_o",), (cut.count,)) if cut.count > 1 or not cut.sizes else ((), ())
    slots = tuple(f"{name}_{iterator}" for iterator in cut.sizes)
    sizes = tuple(cut.sizes.values())
    position = 0 if loop[0] else None
    if not cut.overrun:
        yield _Part((*loop[0], *slots), (*loop[1], *sizes), position, (0,) * len(sizes))
        return
    # Only a last tile, of one iteration, overruns: whole rows of it, and then a part of one.
    inner = math.prod(sizes[1:])
    rows, rest = divmod(cut.block - cut.overrun, inner)
    if rows:
        yield _Part(slots, (rows, *sizes[1:]), None, (0,) * len(sizes))
    if rest:
        yield _Part(slots, (1, *_row(sizes[1:], rest)), None, (rows, *(0,) * (len(sizes) - 1)))


def _row(sizes: tuple[int, ...], rest: int) -> tuple[int, ...]:
    """`rest` points of a row of two iterators at most: all of them are lanes."""
    assert len(sizes) == 1, "an axis has at most two iterators"
    return (rest,)


def _box(piece: Piece, parts: Sequence[_Part | None]) -> Box:
    names = tuple(name for part in parts if part is not None for name in part.names)
    sizes = tuple(size for part in parts if part is not None for size in part.sizes)
    count = len(names)
    position = 0
    forms: list[Linear] = []
    loops: list[Linear] = []
    points: dict[str, Linear] = {}
    for cut, part in zip(piece.cuts, parts, strict=True):
        zero = Linear((0,) * count, 0)
        form, loop = zero, zero
        if part is not None:
            form = Linear(zero.coefficients, cut.start)
            if part.loop is not None:
                loop = Linear.iterator(position, count)
                form = form.plus(loop.times(cut.block))
                position += 1
            inside = cut.block
            for (iterator, size), start in zip(cut.sizes.items(), part.starts, strict=True):
                inside //= size
                value = Linear.iterator(position, count).plus(Linear(zero.coefficients, start))
                points[iterator] = value
                form = form.plus(value.times(inside))
                position += 1
        forms.append(form)
        loops.append(loop)
    return Box(names, sizes, tuple(forms), tuple(loops), points)
