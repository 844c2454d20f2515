"""How the outputs of a convolution are cut into tiles, and which tiles are one map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from xdsl.ir.affine import AffineExpr

from inarch.dialects.graph.op import ints, shape_of
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.memory import buffer_shape
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.winograd.points import Winograd


@dataclass(frozen=True)
class Side:
    """Consecutive tiles along one dimension that read, and write, the same rows of their tile."""

    first: int
    count: int
    taps: tuple[int, ...]
    """Rows of a tile that are inside the memory of x."""
    outputs: int
    """Rows of a tile's m outputs that are inside y."""
    m: int
    begin: int
    """The row in memory of the first tile's first row."""
    into: int
    """The row in the memory of y of the first tile's first output."""

    def between(self, first: int, end: int) -> Side | None:
        """The tiles of a block that begins at tile `first`, and ends before tile `end`."""
        low, high = max(self.first, first), min(self.first + self.count, end)
        if low >= high:
            return None
        moved = first * self.m
        return replace(
            self,
            first=low - first,
            count=high - low,
            begin=self.begin + moved,
            into=self.into + moved,
        )

    def at(self, tile: AffineExpr, tap: int) -> AffineExpr:
        """The row of x that row `tap` of a tile reads."""
        return tile * self.m + (self.first * self.m + self.begin + tap)

    def to(self, tile: AffineExpr, output: int) -> AffineExpr:
        """The row of y that row `output` of a tile writes."""
        return tile * self.m + (self.first * self.m + self.into + output)


@dataclass(frozen=True)
class Region:
    """The tiles of one map."""

    rows: Side
    columns: Side
    batch: int
    all_rows: int
    all_columns: int

    def sizes(self, blocks: int, lanes: int) -> list[tuple[str, int]]:
        """Trip counts of the iterators q, b, ty, tx, l."""
        return [
            ("q", blocks), ("b", self.batch), ("ty", self.rows.count), ("tx", self.columns.count),
            ("l", lanes),
        ]  # fmt: skip

    def tile(self, b: AffineExpr, ty: AffineExpr, tx: AffineExpr) -> AffineExpr:
        """The index of a tile among all tiles."""
        whole = self.all_rows * self.all_columns
        first = self.rows.first * self.all_columns + self.columns.first
        return b * whole + ty * self.all_columns + tx + first


@dataclass(frozen=True)
class Tiles:
    """The partition of a convolution's outputs into tiles."""

    rows: int
    columns: int
    batch: int
    sides: tuple[tuple[Side, ...], tuple[Side, ...]]

    @staticmethod
    def of(winograd: Winograd, op: ConvOp, builder: LoopBuilder) -> Tiles:
        """The tiles of an op whose buffers exist."""
        x, y = builder.buffers[op.x], builder.buffers[op.out]
        margins_x, margins_y = builder.place(x).margins, builder.place(y).margins
        sides: list[tuple[Side, ...]] = []
        for axis in (2, 3):
            begin = margins_x[axis][0] - ints(op.pads)[axis - 2]
            size = buffer_shape(x)[axis]
            outputs = shape_of(op.out)[axis]
            sides.append(tuple(_sides(winograd, begin, size, outputs, margins_y[axis][0])))
        rows, columns = (sum(side.count for side in one) for one in sides)
        return Tiles(rows, columns, shape_of(op.out)[0], (sides[0], sides[1]))

    @property
    def count(self) -> int:
        """The number of tiles."""
        return self.batch * self.rows * self.columns

    def blocks(self, count: int) -> Iterator[Tiles]:
        """So many blocks of consecutive rows of tiles, or one a row."""
        count = min(count, self.rows)
        for first, end in pairwise(self.rows * at // count for at in range(count + 1)):
            rows = tuple(part for side in self.sides[0] if (part := side.between(first, end)))
            yield Tiles(end - first, self.columns, self.batch, (rows, self.sides[1]))

    def regions(self) -> Iterator[Region]:
        """All regions, in order."""
        for rows in self.sides[0]:
            for columns in self.sides[1]:
                yield Region(rows, columns, self.batch, self.rows, self.columns)


def _sides(winograd: Winograd, begin: int, size: int, outputs: int, into: int) -> Iterator[Side]:
    """The tiles of `outputs` rows; the first one begins at row `begin` of a memory of `size` rows."""

    def what(tile: int) -> tuple[tuple[int, ...], int]:
        first = tile * winograd.m + begin
        taps = tuple(tap for tap in range(winograd.n) if 0 <= first + tap < size)
        return taps, min(winograd.m, outputs - tile * winograd.m)

    tiles = range(-(-outputs // winograd.m))
    for (taps, wanted), group in groupby(tiles, key=what):
        found = list(group)
        yield Side(found[0], len(found), taps, wanted, winograd.m, begin, into)
