"""Copies what windows read into the rows of a matrix (im2col), for kernels that want products.

    for o, h, v, c, r, s: y[o, h, v] += w[o, c, r, s] * x[c, h + r, v + s]
    -->
    for c, r, s, h, v: a[c, r, s, h, v] = x[c, h + r, v + s]
    for o, h, v, c, r, s: y[o, h, v] += w[o, c, r, s] * a[c, r, s, h, v]

which is one product of matrices: rows o, columns (h, v), and (c, r, s) are summed. A matrix that does not fit
in half of the second-level cache is made in blocks of rows of the image, which are multiplied while they are
there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Operation

from inarch.dialects.loop.access import IteratorAttr, ReadAttr
from inarch.dialects.loop.buffer import AllocOp, is_constant, root
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.types import dtype_of, memref
from inarch.machine.machine import Machine
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.transform import at_points, strides_along
from inarch.passes.padding.ways import Way, cheapest, copy_nest, free_nests
from inarch.passes.tensorize.choose import Price, Prices
from inarch.passes.tensorize.unify.strided import strided_nest

MOST_BLOCKS = 16
"""Of one nest: each is code of its own."""
COLUMNS = 64
"""Points that a block has at the least, where there are so many: fewer are slivers of a product."""


@dataclass(frozen=True)
class UnfoldWindowsPass(OptionalPass):
    """Makes matrices of images that contractions read in windows, where kernels of others want that.

    Only what such a kernel does then changes, one that is demanded or was loaded: a nest where copies and
    products take less than it did, each with the kernel that it will get, or where more of the work is done
    by a kernel that is demanded. `always`: every nest. One in a loop is left alone.
    """

    always: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        prices = Prices.of(ctx, op)
        if not prices.chooser.guests and not self.always:
            return
        for nest in free_nests(op):
            _unfold(nest, prices, remarks_of(ctx), always=self.always)


@dataclass(frozen=True)
class _Image:
    """The factor that is read in windows, and the iterators that move it, as its copy has them."""

    place: int
    order: tuple[int, ...]
    outer: int
    """The iterator that is cut into blocks: the outermost one of the image's points."""
    points: int
    """Of the image, in one step of `outer`."""
    nbytes: int
    """Of the copy, in one step of `outer`."""


def _unfold(nest: NestOp, prices: Prices, remarks: Remarks, *, always: bool) -> None:
    ways = [
        way for image in _images(nest) for way in _ways(nest, image, prices.chooser.maker.machine)
    ]
    if not ways:
        return
    whole = prices.price([nest])
    best, least = cheapest(ways, prices)
    if not always and not (least < whole and prices.is_by_guests(best.nests)):
        best.drop()
        remarks.missed(nest, f"as a matrix it would take {_text(least)}, not {_text(whole)}")
        return
    remarks.done(nest, f"the image is a matrix{best.label}; {_text(least)}, not {_text(whole)}")
    best.replace(nest)


def _text(price: Price) -> str:
    left = f", {100 * price.undone:.0f} % without what is demanded" if price.undone else ""
    return f"{price.cycles:.0f} cycles{left}"


def _images(nest: NestOp) -> Iterator[_Image]:
    """The factors that windows run over: more than one iterator moves a dimension, or one by steps."""
    contraction = match_contraction(nest)
    if contraction is None or root(nest.outs[0]) in [root(each) for each in nest.ins]:
        return
    for place, other in ((contraction.a, contraction.b), (contraction.b, contraction.a)):
        if is_constant(root(nest.ins[place])) or nest.reads.data[place].is_padded:
            continue
        forms = linear_map(nest.read_map(place))
        moving = [
            at for at in range(len(nest.sizes)) if any(form.coefficients[at] for form in forms)
        ]
        summed = [at for at in moving if nest.iterators.data[at].is_reduction]
        points = [at for at in moving if at not in summed and at not in contraction.batch]
        if not summed or not points:
            continue
        # What is summed lies as in the other factor, points as in the output: then each is one axis.
        theirs = strides_along(nest, nest.ins[other], nest.read_map(other))
        written = strides_along(nest, nest.outs[0], nest.write_map(0))
        summed.sort(key=lambda at: -theirs[at])
        points.sort(key=lambda at: -written[at])
        batch = [at for at in moving if at in contraction.batch]
        is_row = written[points[-1]] == 1
        order = (*batch, *summed, *points) if is_row else (*batch, *points, *summed)
        outer, *inner = points
        size = dtype_of(memref_of(nest.ins[place]).element_type).nbytes
        every = math.prod(nest.sizes[at] for at in order) // nest.sizes[outer]
        yield _Image(place, order, outer, math.prod(nest.sizes[at] for at in inner), size * every)


def _ways(nest: NestOp, image: _Image, machine: Machine) -> Iterator[Way]:
    """The whole matrix, and blocks that stay in the second-level cache: where fewer loops are left."""
    rows = nest.sizes[image.outer]
    least = min(rows, max(-(-COLUMNS // image.points), -(-rows // MOST_BLOCKS)))
    fitting = max(least, min(rows, machine.l2.bytes // 2 // image.nbytes))
    loops = len(strided_nest(nest).axes)
    for count in dict.fromkeys((1, -(-rows // fitting))):
        way = _way(nest, image, count)
        if all(len(strided_nest(each).axes) < loops for each in way.nests if each.has_reduction):
            yield way
        else:
            way.drop()


def _way(nest: NestOp, image: _Image, blocks: int) -> Way:
    rows = nest.sizes[image.outer]
    ends = [rows * number // blocks for number in range(blocks + 1)]
    made = [op for low, high in pairwise(ends) for op in _block(nest, image, low, high)]
    return Way(tuple(made), f" in {blocks} blocks" if blocks > 1 else "")


def _block(nest: NestOp, image: _Image, low: int, high: int) -> Iterator[Operation]:
    """The matrix of some rows of the image, and its product."""
    points = [range(size) for size in nest.sizes]
    points[image.outer] = range(low, high)
    product = at_points(nest, points)
    source, order, count = nest.ins[image.place], image.order, len(points)
    element = memref_of(source).element_type
    matrix = AllocOp(memref(element, [product.sizes[at] for at in order]))
    matrix.location = nest.location
    forms = linear_map(product.read_map(image.place))
    read = [Linear(tuple(form.coefficients[at] for at in order), form.constant) for form in forms]
    own_iterators = [IteratorAttr.get(product.names[at], product.sizes[at]) for at in order]
    index = ReadAttr.get(affine_map(read, len(order)))
    write = _points(range(len(order)), len(order))
    copy = copy_nest(own_iterators, source, index, matrix.buffer, write, nest.location)
    reads = list(product.reads)
    reads[image.place] = ReadAttr.get(affine_map(_points(order, count), count))
    product.reads = ArrayAttr(reads)
    product.operands[image.place] = matrix.buffer
    yield from (matrix, copy, product)


def _points(order: Sequence[int], count: int) -> list[Linear]:
    return [Linear.iterator(at, count) for at in order]
