"""The three nests of Winograd's convolutions, and the convolutions that they apply to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.core.dtypes import DType
from inarch.core.lazy import Array
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.layout import channel_blocks
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.dialects.nest_spec import NestBuilder, multiply_add
from inarch.dialects.scalar import Scalar, constant
from inarch.passes.lower.algorithm import Algorithm, Bound, Known
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.refusals import (
    unless_f32,
    unless_filled,
    unless_one_group,
    unless_steps_of_one,
)
from inarch.passes.lower.winograd.bounds import error_of, ratio
from inarch.passes.lower.winograd.points import WINDOW, Winograd
from inarch.passes.lower.winograd.tiles import Region, Tiles
from inarch.passes.lower.winograd.transforms import Grid, both, flat
from inarch.passes.lower.winograd.weights import constant_weights, panel_of, transform


def algorithm(
    winograd: Winograd, least: int, description: str, about: str, drawn: float | None = None
) -> Algorithm:
    """The algorithm as an extension; it refuses convolutions of fewer than `least` channels.

    `drawn`: the ratio of its greatest error to direct's for drawn inputs; None: the ratio is proved.
    """

    def bound(op: Operation, known: Known) -> Bound:
        assert isinstance(op, ConvOp), "another op is refused"
        if drawn is not None:
            return Bound(drawn, is_statistical=True, about=about)
        image, channels, weights = shape_of(op.x)[2:], shape_of(op.x)[1], known(op.w)
        found = ratio(
            winograd, channels, image, ints(op.pads), weights, at_run_time=_at_run_time(op)
        )
        return Bound(found, about=about)

    def error(op: Operation, operands: Sequence[Array]) -> Array:
        assert isinstance(op, ConvOp), "another op is refused"
        return error_of(winograd, operands, ints(op.pads), at_run_time=_at_run_time(op))

    return Algorithm(
        ConvOp,
        lambda op: refuses(op, least),
        partial(lower, winograd),
        bound,
        description=description,
        error=error,
        layout="blocks",
    )


def _at_run_time(op: ConvOp) -> bool:
    """Whether the weights are transformed in each call."""
    return not isinstance(op.w.owner, ConstantOp)


def lower(winograd: Winograd, op: Operation, builder: LoopBuilder) -> None:
    """Appends three nests for each block of tiles; both transforms are one map for each region of it.

    Weights that are arguments are transformed before the first block; where there is no other one, in
    blocks of panels, of which each is multiplied while the caches hold it.
    """
    assert isinstance(op, ConvOp), "another op is refused"
    x, y = builder.buffers[op.x], builder.result(op.out)
    lanes, element = buffer_shape(x)[-1], memref_of(x).element_type
    blocks_in, blocks_out = buffer_shape(x)[1], buffer_shape(y)[1]
    bias = builder.buffers[op.bias] if op.bias is not None else None
    if bias is not None and shape_of(op.out)[1] % lanes:
        bias = builder.filled_up(bias, (blocks_out * lanes,))
    tiles = Tiles.of(winograd, op, builder)
    place = winograd.n**2 * lanes * tensor_dtype(op.out).nbytes
    scratch, weights = (
        place * (blocks_in + blocks_out) * tiles.count,
        place * blocks_in * blocks_out * lanes,
    )
    every = list(tiles.blocks(_blocks(scratch, [x, y], weights, builder)))
    most = max(one.count for one in every)
    if isinstance(op.w.owner, ConstantOp):
        parts = [range(1)]
        u = constant_weights(
            winograd, op.w.owner.value, builder, blocks_in * lanes, blocks_out * lanes
        )
    else:
        blocks = panel_of(blocks_out)
        parts = _parts(blocks_out // blocks, weights if len(every) == 1 else 0, builder)
        shape = (winograd.n**2, max(map(len, parts)), blocks_in * lanes, blocks * lanes)
        u = builder.alloc(element, shape)
    v = builder.alloc(element, (winograd.n**2, blocks_in, most, lanes))
    p = builder.alloc(element, (winograd.n**2, blocks_out, most, lanes))
    for block in every:
        for region in block.regions():
            _into(winograd, x, v, region, builder)
        for panels in parts:
            if _at_run_time(op) and block is every[0]:
                transform(winograd, builder.buffers[op.w], u, panels, lanes, builder)
            _multiply(tensor_dtype(op.out), block.count, panels, (u, v, p), builder)
        for region in block.regions():
            _out_of(winograd, p, y, bias, region, builder)


_MOST_BLOCKS = 8
"""Each has nests of its own."""


def _parts(panels: int, weights: int, builder: LoopBuilder) -> list[range]:
    """The panels in blocks that fit into a core's part of the caches, of `weights` bytes in all."""
    count = max(1, min(panels, -(-weights // builder.machine.own), _MOST_BLOCKS))
    return [range(*pair) for pair in pairwise(panels * at // count for at in range(count + 1))]


def _blocks(scratch: int, images: Sequence[SSAValue], weights: int, builder: LoopBuilder) -> int:
    """Into how many blocks the tiles are cut, so that V and P of a block, `scratch` of all, take less memory.

    As many as a core's part of the caches asks for, or half of what x and y take, where that is more; each
    reads the weights again, which are never more than V and P.
    """
    room = max(builder.machine.own, sum(nbytes(memref_of(one)) for one in images) // 2)
    return max(1, min(-(-scratch // room), scratch // weights, _MOST_BLOCKS))


def _into(
    winograd: Winograd, x: SSAValue, v: SSAValue, region: Region, builder: LoopBuilder
) -> None:
    """`v[i n + j, c, tile, l]`: B^T of a tile of x, B. Elements outside the memory are 0."""
    _, blocks, *_, lanes = buffer_shape(x)
    q, b, ty, tx, lane = (AffineExpr.dimension(at) for at in range(5))
    rows, columns = region.rows, region.columns
    taps = [(i, j) for i in rows.taps for j in columns.taps]
    reads = [(b, q, rows.at(ty, i), columns.at(tx, j), lane) for i, j in taps]
    tile = region.tile(b, ty, tx)

    def body(given: Sequence[Scalar]) -> list[Scalar]:
        known = dict(zip(taps, given, strict=True))
        grid = [[known.get((i, j)) for j in range(winograd.n)] for i in range(winograd.n)]
        zero = constant(0.0, given[0].dtype, given[0].block)
        return flat(both(winograd.inputs, grid), zero)

    builder.map(
        region.sizes(blocks, lanes),
        [(x, read) for read in reads],
        [(v, (at, q, tile, lane)) for at in range(winograd.n**2)],
        body,
    )


def _multiply(
    dtype: DType,
    count: int,
    panels: range,
    buffers: tuple[SSAValue, SSAValue, SSAValue],
    builder: LoopBuilder,
) -> None:
    """`p[t, k, tile, l] = sum over channels of v[t, c, tile, l] u[t, channel, k * lanes + l]`, of tiles.

    Of the outputs of some panels, which are the first ones of `u`.
    """
    u, v, p = buffers
    places, blocks_in, _, lanes = buffer_shape(v)
    blocks = buffer_shape(u)[-1] // lanes
    nest = NestBuilder()
    t, panel = nest.parallel("t", places), nest.parallel("panel", len(panels))
    k = nest.parallel("k", blocks)
    tile, lane = nest.parallel("tile", count), nest.parallel("l", lanes)
    c, channel = nest.reduction("c", blocks_in), nest.reduction("ci", lanes)
    spec = nest.spec(
        [(t, c, tile, channel), (t, panel, c * lanes + channel, k * lanes + lane)],
        (t, (panel + panels.start) * blocks + k, tile, lane),
        multiply_add,
        init=0,
    )
    builder.nest(spec, [v, u], [dtype, dtype], p, dtype)


def _out_of(
    winograd: Winograd,
    p: SSAValue,
    y: SSAValue,
    bias: SSAValue | None,
    region: Region,
    builder: LoopBuilder,
) -> None:
    """Outputs of a tile: A^T of its products, A, and the bias. Elements outside y are not written."""
    _, blocks, *_, lanes = buffer_shape(y)
    q, b, ty, tx, lane = (AffineExpr.dimension(at) for at in range(5))
    rows, columns = region.rows, region.columns
    tile = region.tile(b, ty, tx)
    reads = [(p, (at, q, tile, lane)) for at in range(winograd.n**2)]
    more = [(bias, (q * lanes + lane,))] if bias is not None else []
    wanted = [(i, j) for i in range(rows.outputs) for j in range(columns.outputs)]

    def body(given: Sequence[Scalar]) -> list[Scalar]:
        rest = given[len(more) :]
        grid = [list(rest[at * winograd.n : (at + 1) * winograd.n]) for at in range(winograd.n)]
        found = both(winograd.outputs, cast("Grid", grid), (rows.outputs, columns.outputs))
        every = [one for row in found for one in row if one is not None]
        return [one + given[0] if more else one for one in every]

    builder.map(
        region.sizes(blocks, lanes),
        [*more, *reads],
        [(y, (b, q, rows.to(ty, i), columns.to(tx, j), lane)) for i, j in wanted],
        body,
    )


def refuses(op: Operation, least: int) -> str | None:
    """Why the algorithm does not apply to a convolution of 3 x 3 windows, or None."""
    assert isinstance(op, ConvOp), "asked of convolutions alone"
    shape = shape_of(op.x)
    if shape_of(op.w)[2:] != (WINDOW, WINDOW):
        return f"its window is {'x'.join(map(str, shape_of(op.w)[2:]))}; expected 3x3"
    if refused := unless_steps_of_one(op) or unless_one_group(op) or unless_f32(op.x):
        return refused
    if _at_run_time(op) and (refused := unless_f32(op.w)):
        return refused
    lanes = channel_blocks(op.x)
    if lanes and (refused := unless_filled(op, lanes)):
        return refused
    if min(shape[1], shape_of(op.out)[1]) < least:
        return f"expected {least} channels or more, found {min(shape[1], shape_of(op.out)[1])}"
    if max(ints(op.pads)) >= WINDOW:
        return f"expected pads below {WINDOW}, found {list(ints(op.pads))}"
    return None
