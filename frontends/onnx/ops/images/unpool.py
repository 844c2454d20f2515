"""MaxUnpool and Col2Im: what takes images apart, backwards."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError


def _max_unpool(node: Node) -> SSAValue:
    """0, but x at the places that the indices, of the shape of x, count in the whole flat result.

    The result is as large as what was pooled at least was; `output_shape`, a constant, puts zeros behind it.
    """
    shape, window = node.shape(), node.ints("kernel_shape")
    rank = len(shape) - 2
    strides = node.ints("strides", [1] * rank)
    pads = node.ints("pads", [0] * 2 * rank)
    if (
        rank < 1
        or node.shape(1) != shape
        or (len(window), len(strides), len(pads)) != (rank, rank, 2 * rank)
    ):
        raise InarchError(
            f"expected indices of shape {shape}, and windows, strides and pads of rank {rank}, "
            f"found shape {node.shape(1)}, {window}, {strides} and {pads}"
        )
    if node.has(2):
        pads = [0] * 2 * rank
    sizes = [
        (size - 1) * stride + taps - begin - end
        for size, stride, taps, begin, end in zip(
            shape[2:], strides, window, pads[:rank], pads[rank:], strict=True
        )
    ]
    if min(sizes) < 1:
        raise InarchError(f"expected sizes >= 1 of the result, found {sizes}")
    image = (*shape[:2], *sizes)
    node.indexes(node.x(1), math.prod(image), wraps=False)
    zero, count = node.like(0, node.x()), math.prod(shape)
    found = node.graph.scatter_elements(
        node.broadcast(zero, (math.prod(image),)),
        node.reshape(node.x(1), (count,)),
        node.reshape(node.x(), (count,)),
        axis=0,
    )
    return _enlarged(node, node.reshape(found, image), image)


def _enlarged(node: Node, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    if not node.has(2):
        return x
    wanted = node.numbers(2, "output_shape")
    if len(wanted) != len(shape) or list(shape[:2]) != wanted[:2]:
        raise InarchError(f"expected an output_shape like {shape}, found {wanted}")
    more = [size - had for size, had in zip(wanted, shape, strict=True)]
    if min(more) < 0:
        raise NotSupportedError(f"output_shape {wanted}, smaller than {list(shape)}")
    if not any(more):
        return x
    return node.graph.pad(x, low=[0 for _ in shape], high=more, value=0.0)


def _col2im(node: Node) -> SSAValue:
    """[batch, channels, ...image]: sums of all elements of blocks that stand on a place.

    x: [batch, channels * block, count]. Each place gathers what stands on it, padded with zeros.
    """
    shape = node.shape()
    image, block = node.numbers(1, "image_shape"), node.numbers(2, "block_shape")
    rank, taps = len(image), math.prod(block)
    strides, dilations = (node.ints(name, [1] * rank) for name in ("strides", "dilations"))
    pads = node.ints("pads", [0] * 2 * rank)
    lengths = {len(block), len(strides), len(dilations), len(pads) // 2}
    if lengths != {rank} or min([*image, *block, *strides, *dilations], default=0) < 1:
        raise InarchError(
            f"expected sizes, strides and dilations >= 1 of rank {rank}, "
            f"found {block}, {strides}, {dilations} and {pads}"
        )
    node.room(sum(image) + sum(pads))
    begins: list[Array] = [
        np.arange(-low, size + high - (width - 1) * dilation, stride)
        for low, size, high, width, dilation, stride in zip(
            pads[:rank], image, pads[rank:], block, dilations, strides, strict=True
        )
    ]
    count = math.prod(len(begin) for begin in begins)
    if len(shape) != 3 or shape[1] % taps or shape[2] != count:
        raise InarchError(
            f"expected an input [batch, channels * {taps}, {count}], found shape {shape}"
        )
    node.room(taps, count)
    sources = _sources(_targets(image, block, dilations, begins))
    planes = (shape[0] * (shape[1] // taps), taps * count)
    flat = node.reshape(node.x(), planes)
    column = node.broadcast(node.like(0, flat), (planes[0], 1))
    joined = node.graph.concat(flat, column, axis=1)
    each = node.graph.gather(joined, node.constant(sources), axis=1)
    total = node.graph.reduce_sum(each, axes=[2], keepdims=False)
    return node.reshape(total, (shape[0], shape[1] // taps, *image))


def _targets(
    image: Sequence[int], block: Sequence[int], dilations: Sequence[int], begins: Sequence[Array]
) -> Array:
    """[taps * count]: the flat place that each element stands on; -1 outside; and how many places."""
    rank = len(image)
    flat = np.zeros((1,) * 2 * rank, np.int64)
    inside = np.ones((1,) * 2 * rank, np.bool_)
    for d, size in enumerate(image):
        at = np.arange(block[d]).reshape(-1, 1) * dilations[d] + begins[d]
        along = [1] * 2 * rank
        along[d], along[rank + d] = at.shape
        at = at.reshape(along)
        flat = flat * size + at
        inside = inside & (at >= 0) & (at < size)
    found = np.where(inside, flat, -1).reshape(-1)
    return np.append(found, math.prod(image) - 1)  # so that the last place is one


def _sources(targets: Array) -> Array:
    """[places, most]: which elements stand on each place, and the column of zeros where fewer do.

    The last of `targets` is that column, which stands on the last place.
    """
    kept = np.flatnonzero(targets >= 0)
    order = kept[np.argsort(targets[kept], kind="stable")]
    places = targets[order]
    counts = np.bincount(places)
    rank = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = np.full((len(counts), int(counts.max())), len(targets) - 1, np.int64)
    found[places, rank] = order
    return found


CONVERTERS: dict[str, Converter] = {"Col2Im": _col2im, "MaxUnpool": _max_unpool}
