"""Tiling a contraction for vector registers: which iterators, packed factors, pieces of the domain.

`schedule_nests.py` says what comes out; `passes/schedule/tile.py` chooses the tile's size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, NoneAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.buffer import AllocOp, ConstantOp
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.affine import linear_form
from inarch.ir.types import dtype_of, memref
from inarch.machine.target import Target
from inarch.passes.loop.transform import rebuild, strides_along
from inarch.passes.schedule.contraction import Contraction
from inarch.passes.schedule.tile import Tile, choose_tile

MIN_COLUMNS = 4
"""With fewer columns most lanes of a register would be padding."""

COLLIDING_BYTES = 2048
MIN_COLLIDING_ROWS = 6
MIN_COLUMN_TILES = 4
"""A packed row is read once a column tile: with fewer, the copy costs as much as it saves."""


_Key = tuple[str, int]
"""An iterator of the tiled nest: its part (`outer`, `vector`, `lane`, `same`) and old position."""


@dataclass(frozen=True)
class _Plan:
    """How a contraction will run: the positions of its tiled iterators, and the tile."""

    contraction: Contraction
    column: int
    blocks: int | None
    """Where columns come in blocks of a vector (a blocked layout): the iterator over blocks, of which
    a tile takes several, while `column` runs through one."""
    rows: tuple[int, ...]
    """The tiled row iterators, at most two, the innermost last."""
    tile: Tile
    lanes: int
    tiles: int
    """Of columns."""

    @property
    def columns_per_tile(self) -> int:
        return self.tile.vectors * self.lanes

    @property
    def column_parts(self) -> tuple[int, ...]:
        """The column iterators that a tile runs over."""
        return (self.column,) if self.blocks is None else (self.blocks, self.column)

    def column_expressions(self, place: dict[_Key, int]) -> dict[int, AffineExpr]:
        """The tiled column iterators over the new ones, which are at `place`."""
        tile, vector, lane = (
            AffineExpr.dimension(place[part, self.column]) for part in ("outer", "vector", "lane")
        )
        if self.blocks is None:
            return {self.column: tile * self.columns_per_tile + vector * self.lanes + lane}
        return {self.blocks: tile * self.tile.vectors + vector, self.column: lane}


def tile_contraction(nest: NestOp, contraction: Contraction, target: Target) -> bool:
    """Replaces `nest` by its tiled form; False when it has no column worth a vector."""
    plan = _plan(nest, contraction, target)
    if plan is None or any(size == 0 for size in nest.sizes):
        return False
    parent = nest.parent
    assert parent is not None
    factor = nest.ins[plan.contraction.b]
    dimensions = _packed_dimensions(nest, plan)
    pack_map = _factor_map(nest, plan, dimensions)
    packed: SSAValue | None = None
    if isinstance(factor.owner, ConstantOp) or not _reads_in_order(nest, plan):
        packed = _insert_pack(nest, factor, pack_map, [size for _, size in dimensions])
    for tiled in _pieces(nest, plan, packed, [key for key, _ in dimensions]):
        parent.insert_op_before(tiled, nest)
    nest.detach()
    nest.erase()
    return True


def _plan(nest: NestOp, contraction: Contraction, target: Target) -> _Plan | None:
    """The best of both ways to take rows and columns: constants and wide columns are preferred."""
    lanes = target.vector_bytes // dtype_of(memref_of(nest.outs[0]).element_type).nbytes
    candidates = [
        (_preference(nest, side, column, lanes), side, column)
        for side in (contraction, contraction.swapped())
        for column in side.columns[-1:]
        if nest.sizes[column] >= MIN_COLUMNS
        and (
            _is_simple(nest, side, column, lanes) or _blocks(nest, side, column, lanes) is not None
        )
    ]
    if not candidates:
        return None
    _, side, column = max(candidates, key=lambda candidate: candidate[0])
    blocks = _blocks(nest, side, column, lanes)
    count = nest.sizes[column] if blocks is None else nest.sizes[blocks] * lanes
    rows = tuple(position for position in side.rows if nest.sizes[position] > 1)[-2:]
    inner = nest.sizes[rows[-1]] if rows else 1
    outer = nest.sizes[rows[0]] if len(rows) == 2 else 1
    whole = blocks is not None or not _ends_with_output(nest, column)
    registers = target.vector_registers
    tile = choose_tile(outer, inner, count, lanes=lanes, registers=registers, whole=whole)
    tiles = math.ceil(count / (tile.vectors * lanes))
    return _Plan(side, column, blocks, rows, tile, lanes, tiles)


def _preference(nest: NestOp, side: Contraction, column: int, lanes: int) -> tuple[bool, bool, int]:
    """A constant factor is packed for nothing; else one that lies in order; else the wider one."""
    constant = isinstance(nest.ins[side.b].owner, ConstantOp)
    stride = strides_along(nest, nest.ins[side.b], nest.read_map(side.b))[column]
    in_order = stride == 1 and nest.sizes[column] % lanes == 0
    return constant, in_order, nest.sizes[column]


def _blocks(nest: NestOp, side: Contraction, column: int, lanes: int) -> int | None:
    """The iterator over blocks of columns, where `column` is exactly a vector: any other column.

    No lane is over an edge then, so that B and C may be indexed in any way.
    """
    others = [p for p in side.columns if p != column and nest.sizes[p] > 1]
    padded = any(not isinstance(nest.reads.data[i].pad, NoneAttr) for i in (side.a, side.b))
    if nest.sizes[column] != lanes or not others or padded or nest.writes.data[0].clips:
        return None
    return others[-1]


def _ends_with_output(nest: NestOp, column: int) -> bool:
    """Whether the column ends where the output does: only then the clip drops lanes that run over."""
    places = zip(nest.write_map(0).results, memref_of(nest.outs[0]).get_shape(), strict=True)
    ends = [(linear_form(e, len(nest.sizes))[1], n) for e, n in places if column in e.used_dims()]
    return all(start + nest.sizes[column] == size for start, size in ends)


def _is_simple(nest: NestOp, side: Contraction, column: int, lanes: int) -> bool:
    """Whether the column alone (coefficient 1, beside constants) indexes one dimension of B and C.

    Then lanes that run over the edge are exactly those that the packed factor and the clip drop.
    """
    if nest.sizes[column] % lanes and not _ends_with_output(nest, column):
        return False
    for index in (nest.read_map(side.b), nest.write_map(0)):
        uses = [
            linear_form(expr, len(nest.iterators))[0]
            for expr in index.results
            if column in expr.used_dims()
        ]
        # Other iterators in the same index (a group's offset) would run into the next group.
        alone = len(uses) == 1 and uses[0][column] == 1 and sum(map(bool, uses[0])) == 1
        if not alone:
            return False
    return all(isinstance(nest.reads.data[i].pad, NoneAttr) for i in (side.a, side.b))


def _reads_in_order(nest: NestOp, plan: _Plan) -> bool:
    """Whether B as it lies can be read by whole vectors: unit stride, and no lanes over the edge."""
    factor = nest.ins[plan.contraction.b]
    along = strides_along(nest, factor, nest.read_map(plan.contraction.b))[plan.column]
    whole = nest.sizes[plan.column] % plan.columns_per_tile == 0 or plan.blocks is not None
    return whole and along == 1


def _packed_dimensions(nest: NestOp, plan: _Plan) -> list[tuple[_Key, int]]:
    """The dimensions of the packed factor: batch, column tile, reductions, vector, lane."""
    used = nest.read_map(plan.contraction.b).used_dims()
    column = plan.column
    batch = [(("same", p), nest.sizes[p]) for p in plan.contraction.batch if p in used]
    others = [
        (("same", p), nest.sizes[p])
        for p in plan.contraction.columns
        if p in used and p not in plan.column_parts and nest.sizes[p] > 1
    ]
    inner = [(("same", p), nest.sizes[p]) for p in plan.contraction.reductions if p in used]
    return [
        *((key, size) for key, size in (*batch, *others) if size > 1),
        (("outer", column), plan.tiles),
        *((key, size) for key, size in inner if size > 1),
        (("vector", column), plan.tile.vectors),
        (("lane", column), plan.lanes),
    ]


def _factor_map(nest: NestOp, plan: _Plan, dimensions: Sequence[tuple[_Key, int]]) -> AffineMap:
    """Where element `[dimensions]` of the packed factor comes from in the factor."""
    place = {key: position for position, (key, _) in enumerate(dimensions)}
    columns = plan.column_expressions(place)
    substitution = [
        columns[position]
        if position in columns
        else AffineExpr.dimension(place["same", position])
        if ("same", position) in place
        else AffineExpr.constant(0)  # of size 1, or not in this factor
        for position in range(len(nest.iterators))
    ]
    index = nest.read_map(plan.contraction.b)
    return index.replace_dims_and_symbols(substitution, [], len(dimensions), 0)


def _pieces(
    nest: NestOp, plan: _Plan, packed: SSAValue | None, packed_keys: Sequence[_Key]
) -> Iterator[NestOp]:
    """The tiled nest, and those of the rows that the tile leaves over."""
    sizes = dict(zip(plan.rows[::-1], (plan.tile.inner, plan.tile.outer), strict=False))
    cuts = [_row_cuts(nest.sizes[position], sizes[position]) for position in plan.rows]
    for choice in _product(cuts):
        yield _tiled(nest, plan, dict(zip(plan.rows, choice, strict=True)), packed, packed_keys)


def _row_cuts(size: int, piece: int) -> list[tuple[int, int, int]]:
    """`(start, piece, count)`: the full pieces, then the remainder."""
    full, rest = divmod(size, piece)
    cuts = [(0, piece, full)] if full else []
    return [*cuts, (full * piece, rest, 1)] if rest else cuts


def _product(
    cuts: Sequence[Sequence[tuple[int, int, int]]],
) -> Iterator[tuple[tuple[int, int, int], ...]]:
    if not cuts:
        yield ()
        return
    for first in cuts[0]:
        for rest in _product(cuts[1:]):
            yield (first, *rest)


def _tiled(
    nest: NestOp,
    plan: _Plan,
    rows: dict[int, tuple[int, int, int]],
    packed: SSAValue | None,
    packed_keys: Sequence[_Key],
) -> NestOp:
    """One piece: `rows[p] = (start, piece, count)` of each tiled row iterator."""
    keys = [key for key, _ in _tiled_iterators(nest, plan, rows)]
    iterators = [iterator for _, iterator in _tiled_iterators(nest, plan, rows)]
    place = {key: position for position, key in enumerate(keys)}
    columns = plan.column_expressions(place)
    substitution: list[AffineExpr] = []
    for position in range(len(nest.iterators)):
        if position in columns:
            substitution.append(columns[position])
        elif position in rows:
            start, piece, _ = rows[position]
            outer = AffineExpr.dimension(place["outer", position]) * piece
            expr = outer + AffineExpr.dimension(place["tile", position])
            substitution.append(expr + start if start else expr)
        else:
            substitution.append(AffineExpr.dimension(place["same", position]))
    operands: dict[int, tuple[SSAValue, AffineMap]] = {}
    if packed is not None:
        operands[plan.contraction.b] = (packed, _at(packed_keys, place))
    if _rows_collide(nest, plan):
        operands[plan.contraction.a] = _packed_rows(nest, plan, rows, place)
    clip = plan.blocks is None and nest.sizes[plan.column] % plan.columns_per_tile != 0
    return rebuild(
        nest,
        iterators,
        substitution,
        operands=operands,
        clip=clip,
        pad=_over_the_edge(nest, plan) if clip else (),
    )


def _at(keys: Sequence[_Key], place: dict[_Key, int]) -> AffineMap:
    """The map that reads a packed factor, whose dimensions are `keys`, in a tiled nest."""
    return AffineMap(len(place), 0, tuple(AffineExpr.dimension(place[key]) for key in keys))


def _rows_collide(nest: NestOp, plan: _Plan) -> bool:
    """Whether the rows of a tile share few sets of the first-level cache, and packing them pays.

    Rows that are a multiple of 2 KiB apart fall into at most two sets of a cache of 4 KiB ways, which
    holds 8 to 12 lines a set: a tile of 14 rows evicts itself at every step of the reduction.
    """
    a = plan.contraction.a
    if len(plan.rows) != 1 or plan.tile.inner < MIN_COLLIDING_ROWS:
        return False
    (row,) = plan.rows
    uses = [e for e in nest.read_map(a).results if row in e.used_dims()]
    if (
        len(uses) != 1
        or linear_form(uses[0], len(nest.iterators))[0].count(0) != len(nest.sizes) - 1
    ):
        return False  # a convolution's window runs over the rows: they are not packed one by one
    kind = memref_of(nest.ins[a])
    stride = strides_along(nest, nest.ins[a], nest.read_map(a))[row]
    apart = stride * dtype_of(kind.element_type).nbytes
    return apart > 0 and apart % COLLIDING_BYTES == 0 and plan.tiles >= MIN_COLUMN_TILES


def _packed_rows(
    nest: NestOp,
    plan: _Plan,
    rows: dict[int, tuple[int, int, int]],
    place: dict[_Key, int],
) -> tuple[SSAValue, AffineMap]:
    """A packed copy of the piece's rows, made before the nest: `[batch, tile, k, row in the tile]`."""
    factor = nest.ins[plan.contraction.a]
    used = nest.read_map(plan.contraction.a).used_dims()
    (row,) = plan.rows
    start, piece, count = rows[row]
    dimensions: list[tuple[_Key, int]] = [
        *((("same", p), nest.sizes[p]) for p in plan.contraction.batch if p in used),
        *((("same", p), nest.sizes[p]) for p in plan.contraction.rows if p in used and p != row),
        (("outer", row), count),
        *((("same", p), nest.sizes[p]) for p in plan.contraction.reductions if p in used),
        (("tile", row), piece),
    ]
    source = {key: position for position, (key, _) in enumerate(dimensions)}
    substitution = [
        AffineExpr.dimension(source["outer", p]) * piece
        + AffineExpr.dimension(source["tile", p])
        + start
        if p == row
        else AffineExpr.dimension(source["same", p])
        if ("same", p) in source
        else AffineExpr.constant(0)
        for p in range(len(nest.iterators))
    ]
    index = nest.read_map(plan.contraction.a).replace_dims_and_symbols(
        substitution, [], len(dimensions), 0
    )
    packed = _insert_pack(nest, factor, index, [size for _, size in dimensions])
    return packed, _at([key for key, _ in dimensions], place)


def _insert_pack(
    nest: NestOp, factor: SSAValue, index: AffineMap, shape: Sequence[int]
) -> SSAValue:
    """A new buffer before `nest`, packed from `factor`."""
    parent = nest.parent
    assert parent is not None
    alloc = AllocOp(memref(memref_of(factor).element_type, shape))
    for op in (alloc, PackOp(factor, AffineMapAttr(index), alloc.buffer)):
        op.location = nest.location
        parent.insert_op_before(op, nest)
    return alloc.buffer


def _over_the_edge(nest: NestOp, plan: _Plan) -> list[int]:
    """Operands (a bias, a residual) that clipped lanes would read outside: their reads get a pad."""
    return [
        position
        for position, read in enumerate(nest.reads)
        if position != plan.contraction.b and plan.column in read.map.data.used_dims()
    ]


def _tiled_iterators(
    nest: NestOp, plan: _Plan, rows: dict[int, tuple[int, int, int]]
) -> list[tuple[_Key, IteratorAttr]]:
    """The tiled loops in order: batch, other columns, column tiles, row tiles, reductions, registers."""
    label = [iterator.label.data for iterator in nest.iterators]

    def same(position: int) -> tuple[_Key, IteratorAttr]:
        return ("same", position), nest.iterators.data[position]

    def row(position: int) -> tuple[_Key, IteratorAttr]:
        if position not in rows:
            return same(position)
        count = rows[position][2]
        return ("outer", position), IteratorAttr.get(f"{label[position]}_o", count)

    column = plan.column
    vectors, lanes = plan.tile.vectors, plan.lanes
    return [
        *map(same, plan.contraction.batch),
        *(same(p) for p in plan.contraction.columns if p not in plan.column_parts),
        (("outer", column), IteratorAttr.get(f"{label[column]}_o", plan.tiles)),
        *map(row, plan.contraction.rows),
        *map(same, plan.contraction.reductions),
        *(
            (("tile", p), IteratorAttr.get(f"{label[p]}_i", rows[p][1], mode="unroll"))
            for p in plan.rows
        ),
        (("vector", column), IteratorAttr.get(f"{label[column]}_v", vectors, mode="unroll")),
        (("lane", column), IteratorAttr.get(f"{label[column]}_l", lanes, mode="vector")),
    ]
