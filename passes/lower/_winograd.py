"""Winograd's convolutions F(m x m, 3 x 3): m x m outputs by (m + 2)^2 products, not 9 m^2.

    y = A^T [ (G w G^T) * (B^T x B) ] A        A, G, B by points (Cook-Toom), exact in f32 but for G

Of an image in blocks of channels, three nests: each tile of x becomes (m + 2)^2 numbers a channel; the
numbers of one place are matrices [tiles, channels], that are multiplied with those of the weights, of which
the compiler makes them; each tile's products become m x m outputs. Tiles that reach over an edge of the
memory are maps of their own, in which what is outside is 0, or not written.

S. Winograd, Arithmetic Complexity of Computations (1980); A. Lavin, S. Gray, Fast Algorithms for
Convolutional Neural Networks, arXiv:1509.09308.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, groupby
from typing import cast

from xdsl.dialects.builtin import DenseResourceAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.core.lazy import Array, np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Scalar, constant
from inarch.ir.payload.constants import constant_array
from inarch.ir.types import f32
from inarch.passes.lower.algorithm import Algorithm, Bound
from inarch.passes.lower.builder import LoopBuilder

Matrix = tuple[tuple[Fraction, ...], ...]

WINDOW = 3


@dataclass(frozen=True)
class Winograd:
    """F(m x m, 3 x 3) by m + 1 points and infinity."""

    m: int
    points: tuple[Fraction, ...]

    @property
    def n(self) -> int:
        """Rows of a tile of x: (m + 2)^2 products."""
        return self.m + WINDOW - 1

    @property
    def outputs(self) -> Matrix:
        """A^T, [m, n]."""
        return tuple(
            (*(point**i for point in self.points), Fraction(i == self.m - 1)) for i in range(self.m)
        )

    @property
    def weights(self) -> Matrix:
        """G, [n, 3]."""
        rows: list[tuple[Fraction, ...]] = []
        for at, point in enumerate(self.points):
            norm = Fraction(1)
            for other in (*self.points[:at], *self.points[at + 1 :]):
                norm *= point - other
            rows.append(tuple(point**k / norm for k in range(WINDOW)))
        return (*rows, (Fraction(0),) * (WINDOW - 1) + (Fraction(1),))

    @property
    def inputs(self) -> Matrix:
        """B^T, [n, n]: products of x - point, without one of them each."""
        rows = [
            (*_product((*self.points[:at], *self.points[at + 1 :])), Fraction(0))
            for at in range(len(self.points))
        ]
        return (*rows, tuple(_product(self.points)))

    def ratio(self, channels: int) -> float:
        """The worst bound of an error, of direct's: with u the rounding of a number, for equal |x| and |w|.

        |A^T| [(|G| 1 1^T |G^T|) (|B^T| 1 1^T |B|)] |A| (C + d) u / (9 C u), d roundings in the transforms.
        """
        roundings = 2 * (_terms(self.inputs) + _terms(self.outputs)) + 1
        one = max(
            sum(
                abs(a) * sum(map(abs, self.weights[j])) * sum(map(abs, self.inputs[j]))
                for j, a in enumerate(row)
            )
            for row in self.outputs
        )
        taps = WINDOW**2
        return float(one * one / taps) * (channels + roundings) / (taps * channels)

    def algorithm(
        self, bound: Callable[[ConvOp], Bound], least: int, description: str
    ) -> Algorithm:
        """From so many channels on."""
        return Algorithm(
            ConvOp,
            lambda op: refuses(op, least),
            self.lower,
            cast("Callable[[Operation], Bound]", bound),
            description=description,
        )

    def lower(self, op: Operation, builder: LoopBuilder) -> None:
        """The three nests, in regions of whole tiles and of those at edges."""
        assert isinstance(op, ConvOp), "another op is refused"
        x, y = builder.buffers[op.x], builder.result(op.out)
        tiles = _Tiles.of(self, op, builder)
        lanes = buffer_shape(x)[-1]
        blocks_in, blocks_out = buffer_shape(x)[1], buffer_shape(y)[1]
        batch, places = shape_of(op.out)[0], self.n**2
        count = batch * tiles.rows * tiles.columns
        element = memref_of(x).element_type
        v = builder.alloc(element, (places, blocks_in, count, lanes))
        p = builder.alloc(element, (places, blocks_out, count, lanes))
        for region in tiles.regions():
            self._into(x, v, region, builder)
        self._multiply(op, v, p, builder)
        bias = builder.buffers[op.bias] if op.bias is not None else None
        for region in tiles.regions():
            self._out_of(p, y, bias, region, builder)

    def _into(self, x: SSAValue, v: SSAValue, region: _Region, builder: LoopBuilder) -> None:
        """`v[i n + j, c, tile, l]`: B^T of a tile of x, B. What is outside of the memory is 0."""
        _, blocks, *_, lanes = buffer_shape(x)
        q, b, ty, tx, lane = (AffineExpr.dimension(at) for at in range(5))
        rows, columns = region.rows, region.columns
        taps = [(i, j) for i in rows.taps for j in columns.taps]
        reads = [(b, q, rows.at(ty, i), columns.at(tx, j), lane) for i, j in taps]
        tile = region.tile(b, ty, tx)

        def body(given: Sequence[Scalar]) -> list[Scalar]:
            known = dict(zip(taps, given, strict=True))
            grid = [[known.get((i, j)) for j in range(self.n)] for i in range(self.n)]
            zero = constant(0.0, given[0].dtype, given[0].block)
            return _flat(_both(self.inputs, grid), zero)

        builder.map(
            region.sizes(blocks, lanes),
            [(x, read) for read in reads],
            [(v, (at, q, tile, lane)) for at in range(self.n**2)],
            body,
        )

    def _multiply(self, op: ConvOp, v: SSAValue, p: SSAValue, builder: LoopBuilder) -> None:
        """`p[t, k, tile, l] = sum over channels of v[t, c, tile, l] u[t, channel, k * lanes + l]`."""
        places, blocks_in, count, lanes = buffer_shape(v)
        blocks_out = buffer_shape(p)[1]
        u = self._constant(op, builder, blocks_in * lanes, blocks_out * lanes)
        nest = NestBuilder()
        t, k = nest.parallel("t", places), nest.parallel("k", blocks_out)
        tile, lane = nest.parallel("tile", count), nest.parallel("l", lanes)
        c, channel = nest.reduction("c", blocks_in), nest.reduction("ci", lanes)
        dtype = tensor_dtype(op.out)
        spec = nest.spec(
            [(t, c, tile, channel), (t, c * lanes + channel, k * lanes + lane)],
            (t, k, tile, lane),
            _multiply_add,
            init=0,
        )
        builder.nest(spec, [v, u], [dtype, dtype], p, dtype)

    def _constant(self, op: ConvOp, builder: LoopBuilder, inputs: int, outputs: int) -> SSAValue:
        """G w G^T in float64, rounded once: [places, channels, outputs]; 0 behind the last channel."""
        made = op.w.owner
        assert isinstance(made, ConstantOp), "others are refused"
        value, store = made.value, builder.store

        has_data = not isinstance(value, DenseResourceAttr) or value.resource_handle.data in store
        weights = constant_array(value, store) if has_data else None

        def make() -> Array:
            given = constant_array(value, store) if weights is None else weights
            full = np.zeros((outputs, inputs, WINDOW, WINDOW))
            full[: given.shape[0], : given.shape[1]] = given
            g = np.array(self.weights, np.float64)
            half = np.tensordot(full, g, (2, 1))  # [k, c, b, i]
            u = np.tensordot(half, g, (2, 1)).astype(np.float32)  # [k, c, i, j]
            u = u.transpose(2, 3, 1, 0).reshape(self.n**2, inputs, outputs)
            return np.ascontiguousarray(u)

        kind = TensorType(f32, (self.n**2, inputs, outputs))
        made = None if weights is None else (weights, ("winograd", self, inputs, outputs))
        return builder.later(make, kind, "winograd", made)

    def _out_of(
        self, p: SSAValue, y: SSAValue, bias: SSAValue | None, region: _Region, builder: LoopBuilder
    ) -> None:
        """Outputs of a tile: A^T of its products, A, and the bias. What is outside of y is not written."""
        _, blocks, *_, lanes = buffer_shape(y)
        q, b, ty, tx, lane = (AffineExpr.dimension(at) for at in range(5))
        rows, columns = region.rows, region.columns
        tile = region.tile(b, ty, tx)
        reads = [(p, (at, q, tile, lane)) for at in range(self.n**2)]
        more = [(bias, (q * lanes + lane,))] if bias is not None else []
        wanted = [(i, j) for i in range(rows.outputs) for j in range(columns.outputs)]

        def body(given: Sequence[Scalar]) -> list[Scalar]:
            rest = given[len(more) :]
            grid = [list(rest[at * self.n : (at + 1) * self.n]) for at in range(self.n)]
            found = _both(self.outputs, cast("_Grid", grid), (rows.outputs, columns.outputs))
            every = [one for row in found for one in row if one is not None]
            return [one + given[0] if more else one for one in every]

        builder.map(
            region.sizes(blocks, lanes),
            [*more, *reads],
            [(y, (b, q, rows.to(ty, i), columns.to(tx, j), lane)) for i, j in wanted],
            body,
        )


def refuses(op: Operation, least: int) -> str | None:
    """Why no convolution of 3 x 3 windows is done so: None where it is."""
    assert isinstance(op, ConvOp), "asked of convolutions alone"
    shape = shape_of(op.x)
    if shape_of(op.w)[2:] != (WINDOW, WINDOW):
        return f"its window is {'x'.join(map(str, shape_of(op.w)[2:]))}; expected 3x3"
    if set(ints(op.strides)) != {1} or set(ints(op.dilations)) != {1}:
        return "expected strides and dilations of 1"
    if op.groups.value.data != 1:
        return f"it has {op.groups.value.data} groups; expected one"
    if tensor_dtype(op.out).name != "f32":
        return f"expected f32, found {tensor_dtype(op.out).name}"
    if not isinstance(op.w.owner, ConstantOp):
        return "its weights are known at run time alone"
    layouts = [layout_of(op.x), layout_of(op.out)]
    if any(one is None or not one.blocks[1] or sum(map(bool, one.blocks)) != 1 for one in layouts):
        return "expected channels in blocks, in x and in the result"
    lanes = {one.blocks[1] for one in layouts if one is not None}
    if len(lanes) != 1 or shape[1] % min(lanes) or shape_of(op.out)[1] % min(lanes):
        return f"expected whole blocks of {min(lanes)} channels, found {shape[1]} and {shape_of(op.out)[1]}"
    if min(shape[1], shape_of(op.out)[1]) < least:
        return f"expected {least} channels or more, found {min(shape[1], shape_of(op.out)[1])}"
    if max(ints(op.pads)) >= WINDOW:
        return f"expected pads below {WINDOW}, found {list(ints(op.pads))}"
    return None


# --------------------------------------------------------------------------------- tiles


@dataclass(frozen=True)
class _Side:
    """Consecutive tiles along one dimension that read, and write, the same of their places."""

    first: int
    count: int
    taps: tuple[int, ...]
    """Rows of a tile that are in the memory of x."""
    outputs: int
    """Of the m of a tile."""
    m: int
    begin: int
    """The row in memory of the first tile's first row."""
    into: int
    """The row in the memory of y of the first tile's first output."""

    def at(self, tile: AffineExpr, tap: int) -> AffineExpr:
        """The row of x of a tile of these."""
        return tile * self.m + (self.first * self.m + self.begin + tap)

    def to(self, tile: AffineExpr, output: int) -> AffineExpr:
        """The row of y."""
        return tile * self.m + (self.first * self.m + self.into + output)


@dataclass(frozen=True)
class _Region:
    """Tiles that are one map."""

    rows: _Side
    columns: _Side
    batch: int
    all_rows: int
    all_columns: int

    def sizes(self, blocks: int, lanes: int) -> list[tuple[str, int]]:
        """Of the iterators q, b, ty, tx, l."""
        return [
            ("q", blocks), ("b", self.batch), ("ty", self.rows.count), ("tx", self.columns.count),
            ("l", lanes),
        ]  # fmt: skip

    def tile(self, b: AffineExpr, ty: AffineExpr, tx: AffineExpr) -> AffineExpr:
        """The number of a tile among all."""
        whole = self.all_rows * self.all_columns
        first = self.rows.first * self.all_columns + self.columns.first
        return b * whole + ty * self.all_columns + tx + first


@dataclass(frozen=True)
class _Tiles:
    """How the outputs of a convolution are cut."""

    rows: int
    columns: int
    batch: int
    sides: tuple[tuple[_Side, ...], tuple[_Side, ...]]

    @staticmethod
    def of(winograd: Winograd, op: ConvOp, builder: LoopBuilder) -> _Tiles:
        """Those of an op whose buffers are made."""
        x, y = builder.buffers[op.x], builder.buffers[op.out]
        margins_x, margins_y = builder.place(x).margins, builder.place(y).margins
        sides: list[tuple[_Side, ...]] = []
        for axis in (2, 3):
            begin = margins_x[axis][0] - ints(op.pads)[axis - 2]
            size = buffer_shape(x)[axis]
            outputs = shape_of(op.out)[axis]
            sides.append(tuple(_sides(winograd, begin, size, outputs, margins_y[axis][0])))
        rows, columns = (sum(side.count for side in one) for one in sides)
        return _Tiles(rows, columns, shape_of(op.out)[0], (sides[0], sides[1]))

    def regions(self) -> Iterator[_Region]:
        """All, in order."""
        for rows in self.sides[0]:
            for columns in self.sides[1]:
                yield _Region(rows, columns, self.batch, self.rows, self.columns)


def _sides(winograd: Winograd, begin: int, size: int, outputs: int, into: int) -> Iterator[_Side]:
    """Tiles of `outputs` rows, whose first one begins at row `begin` of a memory of `size` rows."""

    def what(tile: int) -> tuple[tuple[int, ...], int]:
        first = tile * winograd.m + begin
        taps = tuple(tap for tap in range(winograd.n) if 0 <= first + tap < size)
        return taps, min(winograd.m, outputs - tile * winograd.m)

    tiles = range(-(-outputs // winograd.m))
    for (taps, wanted), group in groupby(tiles, key=what):
        found = list(group)
        yield _Side(found[0], len(found), taps, wanted, winograd.m, begin, into)


# --------------------------------------------------------------------------------- arithmetic


def _multiply_add(x: Scalar, w: Scalar, total: Scalar) -> Scalar:
    return total + x * w


_Grid = list[list[Scalar | None]]


def _both(matrix: Matrix, grid: _Grid, wanted: tuple[int, int] | None = None) -> _Grid:
    """`matrix grid matrix^T`, of the first rows and columns that are wanted; None is 0."""
    height, width = wanted or (len(matrix), len(matrix))
    columns = list(zip(*grid, strict=True))
    numbers = _Numbers()
    half = list(zip(*(_times(matrix[:height], column, numbers) for column in columns), strict=True))
    return [_times(matrix[:width], line, numbers) for line in half]


@dataclass
class _Numbers:
    """The coefficients of a body, each once."""

    known: dict[Fraction, Scalar] = field(default_factory=dict[Fraction, Scalar])

    def of(self, number: Fraction, like: Scalar) -> Scalar:
        """It as an element of that dtype; every number of a transform is exact in f32."""
        if number not in self.known:
            self.known[number] = constant(float(number), like.dtype, like.block)
        return self.known[number]


def _times(
    matrix: Matrix, values: Sequence[Scalar | None], numbers: _Numbers
) -> list[Scalar | None]:
    """`matrix values`; points p and -p make rows, or columns, that are equal but for signs.

    What those share is computed once.
    """
    rows, values = _folded([list(row) for row in matrix], list(values))
    found: dict[int, Scalar | None] = {}
    for a, b in combinations(range(len(rows)), 2):
        even = [(x + y) / 2 for x, y in zip(rows[a], rows[b], strict=True)]
        odd = [(x - y) / 2 for x, y in zip(rows[a], rows[b], strict=True)]
        terms = [sum(map(bool, part)) for part in (even, odd)]
        is_apart = not any(x and y for x, y in zip(even, odd, strict=True))
        if {a, b} & found.keys() or not is_apart or min(terms) == 0 or max(terms) == 1:
            continue
        e, o = _dot(even, values, numbers), _dot(odd, values, numbers)
        if e is not None and o is not None:
            found[a], found[b] = e + o, e - o
    return [found[at] if at in found else _dot(row, values, numbers) for at, row in enumerate(rows)]


def _folded(
    rows: list[list[Fraction]], values: list[Scalar | None]
) -> tuple[list[list[Fraction]], list[Scalar | None]]:
    """Of two columns that are equal but for signs, the sum and the difference of what they multiply."""
    for j, k in combinations(range(len(values)), 2):
        pairs = [(row[j], row[k]) for row in rows]
        one, other = values[j], values[k]
        sums = sum(x == y != 0 for x, y in pairs)
        differences = sum(x == -y != 0 for x, y in pairs)
        is_alike = all(abs(x) == abs(y) for x, y in pairs)
        if not is_alike or one is None or other is None or max(sums, differences) < 2:
            continue
        values[j] = one + other if sums else None
        values[k] = one - other if differences else None
        for row, (x, y) in zip(rows, pairs, strict=True):
            row[j], row[k] = (x, Fraction(0)) if x == y else (Fraction(0), x)
    return rows, values


def _dot(
    row: Sequence[Fraction], values: Sequence[Scalar | None], numbers: _Numbers
) -> Scalar | None:
    """The positive terms first, so that none is negated alone."""
    terms = [(k, v) for k, v in zip(row, values, strict=True) if k and v is not None]
    terms.sort(key=lambda term: term[0] < 0)
    total: Scalar | None = None
    for k, value in terms:
        scaled = value if abs(k) == 1 else value * numbers.of(abs(k), value)
        if total is None:
            total = scaled if k > 0 else -scaled
        else:
            total = total + scaled if k > 0 else total - scaled
    return total


def _flat(grid: _Grid, zero: Scalar) -> list[Scalar]:
    """Row after row, with `zero` for None."""
    return [zero if one is None else one for row in grid for one in row]


def _product(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the product of x - root, the lowest first."""
    found = [Fraction(1)]
    for root in roots:
        found = [
            a - root * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)
        ]
    return found


def _terms(matrix: Matrix) -> int:
    """Of the longest row."""
    return max(sum(1 for one in row if one) for row in matrix)
