"""Reductions of each lane of a vector by itself: depthwise convolution and pooling on blocked channels.

    for h, w: for lanes: acc = init                 for h, w by a few pixels:
        for taps: acc += x * w              -->         acc[pixels] (vectors in registers) = init
        y = finish(acc)                                 for taps: acc[i] += x[i] * w
                                                        y = finish(acc)

Nothing is shared among lanes, so that this is no contraction; several pixels hide the latency of the
update, and share what does not vary with the pixel.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, NoneAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.buffer import AllocOp, ConstantOp
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.types import dtype_of, memref
from inarch.machine.target import Target
from inarch.passes.loop.transform import rebuild, strides_along

MIN_PIXELS = 4
MAX_PIXELS = 8
"""Accumulators at once: four hide the latency of an update on a core that starts one a cycle."""


def tile_lanes(nest: NestOp, target: Target) -> bool:
    """Replaces `nest` by its form in registers; False when its output has no vector innermost."""
    lane = _lane(nest, target)
    if lane is None:
        return False
    parent = nest.parent
    assert parent is not None
    operands = {
        position: _packed(nest, position)
        for position, value in enumerate(nest.ins)
        if isinstance(value.owner, ConstantOp) and _stride(nest, position, lane) > 1
    }
    pixel = _pixel(nest, lane)
    size = nest.sizes[pixel] if pixel is not None else 1
    piece = _piece(size)
    for start, count, pixels in _cuts(size, piece):
        tiled = _tiled(nest, lane, pixel, (start, count, pixels), operands)
        parent.insert_op_before(tiled, nest)
    nest.detach()
    nest.erase()
    return True


def _lane(nest: NestOp, target: Target) -> int | None:
    """The parallel iterator that is exactly a vector, and along which everything is contiguous."""
    if len(nest.outs) != 1 or not nest.has_reduction or nest.writes.data[0].clips:
        return None
    out = nest.outs[0]
    lanes = target.vector_bytes // dtype_of(memref_of(out).element_type).nbytes
    along = strides_along(nest, out, nest.write_map(0))
    unit = [i for i, stride in enumerate(along) if stride == 1 and nest.sizes[i] == lanes]
    if not unit or any(not isinstance(read.pad, NoneAttr) for read in nest.reads):
        return None
    (lane, *_) = unit
    strides = [
        1 if isinstance(value.owner, ConstantOp) else _stride(nest, position, lane)
        for position, value in enumerate(nest.ins)
    ]
    varies = any(_stride(nest, position, lane) for position in range(len(nest.ins)))
    return lane if varies and all(stride in (0, 1) for stride in strides) else None


def _stride(nest: NestOp, position: int, iterator: int) -> int:
    return strides_along(nest, nest.ins[position], nest.read_map(position))[iterator]


def _packed(nest: NestOp, position: int) -> tuple[SSAValue, AffineMap]:
    """A constant in the order of the loops that it varies with; folded at compile time."""
    source, index = nest.ins[position], nest.read_map(position)
    used = sorted(index.used_dims(), key=lambda i: (_is_vector_last(nest, i), i))
    substitution = [
        AffineExpr.dimension(used.index(i)) if i in used else AffineExpr.constant(0)
        for i in range(len(nest.iterators))
    ]
    moved = index.replace_dims_and_symbols(substitution, [], len(used), 0)
    shape = [nest.sizes[i] for i in used]
    alloc = AllocOp(memref(memref_of(source).element_type, shape))
    parent = nest.parent
    assert parent is not None
    for op in (alloc, PackOp(source, AffineMapAttr(moved), alloc.buffer)):
        op.location = nest.location
        parent.insert_op_before(op, nest)
    read = AffineMap(len(nest.iterators), 0, tuple(AffineExpr.dimension(i) for i in used))
    return alloc.buffer, read


def _is_vector_last(nest: NestOp, iterator: int) -> bool:
    return strides_along(nest, nest.outs[0], nest.write_map(0))[iterator] == 1


def _pixel(nest: NestOp, lane: int) -> int | None:
    """The innermost of the other parallel iterators: of its points, several run at once."""
    others = [
        i
        for i, it in enumerate(nest.iterators)
        if not it.is_reduction and i != lane and it.size.data
    ]
    return others[-1] if others else None


def _piece(size: int) -> int:
    """How many points at once: in as few pieces as there can be, if possible of one size."""
    choices = range(min(MIN_PIXELS, size), min(MAX_PIXELS, size) + 1)
    return min(choices, key=lambda piece: (-(-size // piece), size % piece != 0, -piece))


def _cuts(size: int, piece: int) -> list[tuple[int, int, int]]:
    """`(start, pieces, points in each)`: the full pieces, then the remainder."""
    full, rest = divmod(size, piece)
    cuts = [(0, full, piece)] if full else []
    return [*cuts, (full * piece, 1, rest)] if rest else cuts


def _tiled(
    nest: NestOp,
    lane: int,
    pixel: int | None,
    cut: tuple[int, int, int],
    operands: dict[int, tuple[SSAValue, AffineMap]],
) -> NestOp:
    """Parallel loops, then the reduction, then pixels and lanes."""
    start, count, pixels = cut
    iterators: list[IteratorAttr] = []
    substitution: dict[int, AffineExpr] = {}

    def add(iterator: IteratorAttr) -> AffineExpr:
        iterators.append(iterator)
        return AffineExpr.dimension(len(iterators) - 1)

    for reduces in (False, True):
        for i, iterator in enumerate(nest.iterators):
            if iterator.is_reduction is not reduces or i == lane:
                continue
            label = iterator.label.data
            if i == pixel:
                outer = add(IteratorAttr.get(f"{label}_o", count))
                substitution[i] = outer * pixels + start
            else:
                substitution[i] = add(iterator)
    if pixel is not None:
        label = nest.iterators.data[pixel].label.data
        substitution[pixel] += add(IteratorAttr.get(f"{label}_i", pixels, mode="unroll"))
    last = nest.iterators.data[lane]
    substitution[lane] = add(IteratorAttr.get(last.label.data, last.size.data, mode="vector"))
    order = [substitution[i] for i in range(len(nest.iterators))]
    moved = {
        position: (value, index.replace_dims_and_symbols(order, [], len(iterators), 0))
        for position, (value, index) in operands.items()
    }
    return rebuild(nest, iterators, order, operands=moved)
