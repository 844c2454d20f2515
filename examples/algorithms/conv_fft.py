"""Convolutions of large windows by discrete Fourier transforms, which are products of matrices.

    y = F^-1 [ F(x) * conj(F(w)) ]        of each tile of x; its first N - R + 1 rows and columns are kept

Tiles overlap by R - 1 (overlap-save). Each is transformed along its columns, where half of the frequencies
are enough as x is real, then along its rows. At each frequency the tiles are a matrix [tiles, channels] that
is multiplied with one of the weights, [channels, filters]; the compiler makes those, in float64. Real and
imaginary parts are numbers of their own, so each step is a product of real matrices.

    inarch explain MODEL --load examples/algorithms/conv_fft.py --numerics fast
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.nest_spec import NestBuilder, NestSpec, same
from inarch.dialects.scalar import Scalar
from inarch.ir.types import f32
from inarch.passes.lower.algorithm import Algorithm, Bound, Known
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.refusals import unless_f32, unless_one_group, unless_steps_of_one

Array = np.ndarray[Any, np.dtype[np.float64]]
Index = Sequence[AffineExpr | int]

LEAST = 15
"""Rows and columns of a window."""
WEIGHT = 8
"""Multiplications in the time that a weight takes from memory."""


@dataclass(frozen=True)
class Side:
    """How one dimension is cut into tiles."""

    window: int
    tile: int
    count: int

    @property
    def kept(self) -> int:
        """Outputs of a tile."""
        return self.tile - self.window + 1

    @property
    def padded(self) -> int:
        """Rows that all tiles read."""
        return self.count * self.kept + self.window - 1

    @staticmethod
    def every(window: int, outputs: int) -> Iterator[Side]:
        """Tiles of even sizes, from one tile on."""
        for count in range(1, -(-outputs // window) + 2):
            tile = -(-outputs // count) + window - 1
            tile += tile % 2
            yield Side(window, tile, -(-outputs // (tile - window + 1)))


@dataclass(frozen=True)
class Cut:
    """A convolution in tiles."""

    batch: int
    channels: int
    filters: int
    rows: Side
    columns: Side

    @property
    def half(self) -> int:
        """Frequencies along columns."""
        return self.columns.tile // 2 + 1

    @property
    def grid(self) -> tuple[int, int, int]:
        """The tiles: of a batch, down, across."""
        return self.batch, self.rows.count, self.columns.count

    @property
    def tiles(self) -> int:
        """How many."""
        return math.prod(self.grid)

    @property
    def cost(self) -> int:
        """Multiplications of all steps, and the weights."""
        rows, columns, half = self.rows, self.columns, self.half
        into = self.batch * rows.padded * columns.count * 2 * half * columns.tile
        into += self.tiles * half * 3 * rows.tile * 2 * rows.tile
        back = self.tiles * half * 2 * rows.kept * 2 * rows.tile
        back += self.tiles * rows.kept * columns.kept * 2 * half
        weights = 2 * rows.tile * half * self.channels * self.filters
        return into * self.channels + weights * (2 * self.tiles + WEIGHT) + back * self.filters

    @staticmethod
    def of(op: ConvOp) -> Cut:
        """The cheapest one."""
        (batch, channels), filters = shape_of(op.x)[:2], shape_of(op.w)[0]
        pairs = zip(shape_of(op.w)[2:], shape_of(op.out)[2:], strict=True)
        rows, columns = (list(Side.every(*pair)) for pair in pairs)
        cuts = [Cut(batch, channels, filters, one, other) for one in rows for other in columns]
        return min(cuts, key=lambda cut: cut.cost)


def refuses(op: Operation) -> str | None:
    """Why it does not apply to a convolution, or None."""
    assert isinstance(op, ConvOp), "asked of convolutions alone"
    window = shape_of(op.w)[2:]
    if len(window) != 2 or min(window) < LEAST:
        return f"its window is {'x'.join(map(str, window))}; expected {LEAST}x{LEAST} or more"
    if refused := unless_steps_of_one(op) or unless_one_group(op) or unless_f32(op.out):
        return refused
    return None if isinstance(op.w.owner, ConstantOp) else "its weights are known at run time alone"


def bound(_op: Operation, _known: Known) -> Bound:
    """Of the greatest error of direct's: 30 drawn convolutions are below 1.4.

    The proved bound is far above: a transform adds all numbers of a tile, of which most errors cancel.
    """
    about = "an infinity or a NaN makes its tiles NaN; inputs below 1e30"
    return Bound(2.0, is_statistical=True, about=about)


def lower(op: Operation, builder: LoopBuilder) -> None:
    """A padded copy, two transforms, the products, two transforms back, a copy with the bias."""
    assert isinstance(op, ConvOp), "another op is refused"
    steps = Steps(op, builder, Cut.of(op))
    lines = steps.along_columns(steps.padded())
    products = steps.at_each_frequency(steps.along_rows(lines))
    steps.write(steps.back_along_columns(steps.back_along_rows(products)))


def waves(size: int, rows: int, columns: int) -> tuple[Array, Array]:
    """Cosine and sine of `2 pi a b / size` for a in rows, b in columns."""
    angles = 2 * np.pi / size * np.outer(np.arange(rows), np.arange(columns))
    return np.cos(angles), np.sin(angles)


@dataclass(frozen=True)
class Steps:
    """The nests. Channels, or filters, are innermost in all buffers between."""

    op: ConvOp
    builder: LoopBuilder
    cut: Cut

    def padded(self) -> SSAValue:
        """`[b, h, w, c]`: x with zeros around it, for whole tiles."""
        cut, (top, left, *_) = self.cut, ints(self.op.pads)
        nest = NestBuilder()
        shape = (cut.batch, cut.rows.padded, cut.columns.padded, cut.channels)
        b, h, w, c = nest.shape(shape)
        copied = nest.spec([(b, c, h - top, w - left)], (b, h, w, c), same, pads=[0])
        return self._nest(copied, [self.builder.buffers[self.op.x]], self._new(shape))

    def along_columns(self, padded: SSAValue) -> SSAValue:
        """`[b, h, tx, f, c]`: part q (real, imaginary) of frequency v is f = q half + v."""
        cut, columns, half, nest = self.cut, self.cut.columns, self.cut.half, NestBuilder()
        cosine, sine = waves(columns.tile, half, columns.tile)
        factors = self._constant(np.concatenate([cosine, -sine]), "columns")
        sizes = (cut.batch, cut.rows.padded, columns.count, 2 * half, cut.channels)
        b, h, tx, f, c = nest.shape(sizes)
        j = nest.reduction("j", columns.tile)
        reads = [(f, j), (b, h, tx * columns.kept + j, c)]
        return self._multiply(nest, (b, h, tx, f, c), reads, [factors, padded], sizes)

    def along_rows(self, lines: SSAValue) -> SSAValue:
        """`[v, s, b, ty, tx, c]`: part p (real, imaginary, -real) of frequency u is s = p N + u."""
        cut, rows, half, nest = self.cut, self.cut.rows, self.cut.half, NestBuilder()
        cosine, sine = waves(rows.tile, rows.tile, rows.tile)
        real, imaginary = np.stack([cosine, sine], 1), np.stack([-sine, cosine], 1)
        factors = self._constant(np.concatenate([real, imaginary, -real]), "rows")
        sizes = (half, 3 * rows.tile, *cut.grid, cut.channels)
        v, s, b, ty, tx, c = nest.shape(sizes)
        q, i = nest.reduction("q", 2), nest.reduction("i", rows.tile)
        reads = [(s, q, i), (b, ty * rows.kept + i, tx, q * half + v, c)]
        return self._multiply(nest, (v, s, b, ty, tx, c), reads, [factors, lines], sizes)

    def at_each_frequency(self, spectrum: SSAValue) -> SSAValue:
        """`[v, u, p, tile, k]`: of x (real, imaginary), then (imaginary, -real), by w (real, imaginary)."""
        cut, n, nest = self.cut, self.cut.rows.tile, NestBuilder()
        x = self.builder.reshape(spectrum, (cut.half, 3, n, cut.tiles, cut.channels))
        sizes = (cut.half, n, 2, cut.tiles, cut.filters)
        v, u, p, tile, k = nest.shape(sizes)
        q, c = nest.reduction("q", 2), nest.reduction("c", cut.channels)
        reads = [(v, p + q, u, tile, c), (v, u, q, c, k)]
        return self._multiply(nest, (v, u, p, tile, k), reads, [x, self._weights()], sizes)

    def back_along_rows(self, products: SSAValue) -> SSAValue:
        """`[tile, v, s, k]`: part p of row h is s = p kept + h."""
        cut, rows, nest = self.cut, self.cut.rows, NestBuilder()
        cosine, sine = waves(rows.tile, rows.kept, rows.tile)
        real, imaginary = np.stack([cosine, -sine], 2), np.stack([sine, cosine], 2)
        factors = self._constant(np.concatenate([real, imaginary]), "rows_back")
        sizes = (cut.tiles, cut.half, 2 * rows.kept, cut.filters)
        tile, v, s, k = nest.shape(sizes)
        u, p = nest.reduction("u", rows.tile), nest.reduction("p", 2)
        reads = [(s, u, p), (v, u, p, tile, k)]
        return self._multiply(nest, (tile, v, s, k), reads, [factors, products], sizes)

    def back_along_columns(self, lines: SSAValue) -> SSAValue:
        """`[b, ty, h, tx, w, k]`: each frequency but the first and the last counts twice."""
        cut, rows, columns, nest = self.cut, self.cut.rows, self.cut.columns, NestBuilder()
        twice = np.where(np.arange(cut.half) % (cut.half - 1), 2, 1)
        cosine, sine = waves(columns.tile, columns.kept, cut.half)
        scale = twice[:, np.newaxis] / (rows.tile * columns.tile)
        factors = self._constant(np.stack([cosine, -sine], 2) * scale, "columns_back")
        z = self.builder.reshape(lines, (*cut.grid, cut.half, 2 * rows.kept, cut.filters))
        sizes = (cut.batch, rows.count, rows.kept, columns.count, columns.kept, cut.filters)
        b, ty, h, tx, w, k = nest.shape(sizes)
        v, q = nest.reduction("v", cut.half), nest.reduction("q", 2)
        reads = [(w, v, q), (b, ty, tx, v, q * rows.kept + h, k)]
        return self._multiply(nest, (b, ty, h, tx, w, k), reads, [factors, z], sizes)

    def write(self, image: SSAValue) -> None:
        """`y[b, k, h, w]`, of the rows and columns that there are, with the bias."""
        cut, op, buffers = self.cut, self.op, self.builder.buffers
        shape = (cut.batch, cut.rows.count * cut.rows.kept, cut.columns.count * cut.columns.kept)
        image = self.builder.reshape(image, (*shape, cut.filters))
        nest = NestBuilder()
        b, k, h, w = nest.shape(shape_of(op.out))
        if op.bias is None:
            copied, ins = nest.spec([(b, h, w, k)], (b, k, h, w), same), [image]
        else:
            copied = nest.spec([(b, h, w, k), (k,)], (b, k, h, w), _add)
            ins = [image, buffers[op.bias]]
        self._nest(copied, ins, self.builder.result(op.out))

    def _weights(self) -> SSAValue:
        """`[v, u, q, c, k]`: part q (real, imaginary) of their transforms."""
        assert isinstance(self.op.w.owner, ConstantOp), "others are refused"
        n, m = self.cut.rows.tile, self.cut.columns.tile

        def make(weights: Array) -> Any:
            found = np.fft.rfft2(weights.astype(np.float64), (n, m)).transpose(3, 2, 1, 0)
            return np.stack([found.real, found.imag], 2).astype(np.float32)

        kind = TensorType(f32, (self.cut.half, n, 2, self.cut.channels, self.cut.filters))
        return self.builder.made_from(self.op.w.owner.value, make, kind, ("fft", n, m))

    def _multiply(
        self,
        nest: NestBuilder,
        write: Index,
        reads: Sequence[Index],
        ins: Sequence[SSAValue],
        shape: tuple[int, ...],
    ) -> SSAValue:
        """A new buffer: the sums of products of an element of each of the two."""
        return self._nest(nest.spec(reads, write, _multiply_add, init=0), ins, self._new(shape))

    def _constant(self, array: Array, name: str) -> SSAValue:
        return self.builder.constant(np.ascontiguousarray(array, np.float32), name)

    def _new(self, shape: tuple[int, ...]) -> SSAValue:
        return self.builder.alloc(memref_of(self.builder.buffers[self.op.x]).element_type, shape)

    def _nest(self, spec: NestSpec, ins: Sequence[SSAValue], out: SSAValue) -> SSAValue:
        dtype = tensor_dtype(self.op.out)
        self.builder.nest(spec, ins, [dtype] * len(ins), out, dtype)
        return out


def _add(a: Scalar, b: Scalar) -> Scalar:
    return a + b


def _multiply_add(a: Scalar, b: Scalar, total: Scalar) -> Scalar:
    return total + a * b


ALGORITHM = Algorithm(ConvOp, refuses, lower, bound)
