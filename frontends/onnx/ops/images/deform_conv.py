"""DeformConv: a convolution whose taps are moved by offsets that are computed at run time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.images.grid_sample import Sampler, interpolated


def _deform_conv(node: Node) -> SSAValue:
    """`out[n, o, p] = sum over c, k of W[o, c, k] * mask[n, c, k, p] * x[n, c, p * s + k * d - b + offset]`.

    x is interpolated linearly between its elements, beyond which there are zeros (Dai et al. 2017,
    arXiv 1703.06211; the mask: Zhu et al. 2019, arXiv 1811.11168). The taps become a matrix, as of im2col.
    """
    x, weights = node.shape(0), node.shape(1)
    rank, taps = len(x) - 2, weights[2:]
    if rank < 1 or len(weights) != len(x) or node.ints("kernel_shape", taps) != list(taps):
        raise InarchError(
            f"expected an input and weights of one rank, and kernel_shape as in the weights, found {x}, "
            f"{weights} and {node.ints('kernel_shape', taps)}"
        )
    groups, parts = node.int("group", 1), node.int("offset_group", 1)
    if min(groups, parts) < 1 or x[1] % parts or x[1] != weights[1] * groups or weights[0] % groups:
        raise InarchError(
            f"expected {weights[1]} channels for each of {groups} groups, and offsets for each of {parts} "
            f"groups of channels, found {x[1]} channels and {weights[0]} outputs"
        )
    places = _places(node, x[2:], taps)
    points, count = places[0].shape[rank:], x[0] * parts
    offsets = (count, math.prod(taps), rank, math.prod(points))
    _expect(node, 2, (x[0], parts * math.prod(taps) * rank, *points))
    moves = node.reshape(node.x(2), offsets)
    column = (count, math.prod(taps), math.prod(points))
    positions: list[SSAValue] = []
    for d, place in enumerate(places):
        move = node.part(moves, 2, d, 1)
        where = node.constant(place.reshape(1, *column[1:]))
        positions.append(node.graph.add(node.reshape(move, column), where))
    channels = x[1] // parts
    split = node.reshape(node.x(0), (count, channels, math.prod(x[2:])))
    last = node.graph.transpose(split, perm=[0, 2, 1])
    data = node.reshape(last, (count * math.prod(x[2:]), channels))
    sampler = Sampler(node, "linear", "zeros", corners=True)
    found = interpolated(sampler, data, positions, x[2:])
    if node.has(4):
        _expect(node, 4, (x[0], parts * math.prod(taps), *points))
        found = node.graph.mul(found, node.reshape(node.x(4), (*column, 1)))
    matrix = node.graph.transpose(found, perm=[0, 3, 1, 2])
    depth = weights[1] * math.prod(taps)
    matrix = node.reshape(matrix, (x[0], groups, depth, math.prod(points)))
    rows = node.reshape(node.x(1), (1, groups, weights[0] // groups, depth))
    product = node.reshape(node.graph.matmul(rows, matrix), (x[0], weights[0], *points))
    if not node.has(3):
        return product
    _expect(node, 3, (weights[0],))
    return node.graph.add(product, node.reshape(node.x(3), (weights[0], *(1 for _ in points))))


def _expect(node: Node, index: int, shape: tuple[int, ...]) -> None:
    if node.shape(index) != shape:
        name = ("", "", "offsets", "a bias", "a mask")[index]
        raise InarchError(f"expected {name} of shape {shape}, found {node.shape(index)}")


def _places(node: Node, sizes: Sequence[int], taps: Sequence[int]) -> list[np.ndarray]:
    """Of each dimension, where its tap of each window is without an offset, [taps.., windows..]."""
    rank = len(sizes)
    strides, dilations = (node.ints(name, [1] * rank) for name in ("strides", "dilations"))
    pads = node.ints("pads", [0] * 2 * rank)
    if (len(strides), len(dilations), len(pads)) != (rank, rank, 2 * rank) or min(
        *strides, *dilations
    ) < 1:
        raise InarchError(
            f"expected strides and dilations >= 1 and pads of rank {rank}, "
            f"found {strides}, {dilations} and {pads}"
        )
    counts = [
        (size + pads[d] + pads[rank + d] - (taps[d] - 1) * dilations[d] - 1) // strides[d] + 1
        for d, size in enumerate(sizes)
    ]
    if min(counts) < 1:
        raise InarchError(f"expected a window or more in each dimension, found {counts}")
    node.room(math.prod(counts), math.prod(taps))
    found: list[np.ndarray] = []
    for d in range(rank):
        along = np.arange(taps[d])[:, None] * dilations[d] + np.arange(counts[d]) * strides[d]
        shape = [1] * 2 * rank
        shape[d], shape[rank + d] = along.shape
        whole = np.broadcast_to((along - pads[d]).reshape(shape), (*taps, *counts))
        found.append(whole.astype(node.dtype(0).numpy))
    return found


CONVERTERS: dict[str, Converter] = {"DeformConv": _deform_conv}
