"""MaxRoiPool: the largest elements of the cells of regions of images."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.frontends.onnx.node import Converter, Node
from inarch.ir.types import i64


@dataclass(frozen=True)
class _Cells:
    """Along one axis of the image, for each region."""

    within: SSAValue
    """[regions, cells, size]: whether a pixel is of a cell (i1)"""
    some: SSAValue
    """[regions, cells]: whether any is (i1)"""


def _max_roi_pool(node: Node) -> SSAValue:
    """[regions, channels, rows, columns] of an image [batch, channels, height, width].

    Regions: [regions, 5], each the index of its image, x1, y1, x2, y2, which are scaled, rounded with halves
    away from 0, and inclusive. A cell reaches from the floor of its begin to the ceiling of its end; 0 where
    it is off the image (Girshick 2015, arXiv 1504.08083; as onnxruntime).
    """
    image, rois = node.shape(0), node.shape(1)
    cells = node.ints("pooled_shape")
    if len(image) != 4 or len(rois) != 2 or rois[1] != 5 or len(cells) != 2 or min(cells) < 1:
        raise InarchError(
            "expected an image of rank 4, regions of shape (n, 5) and a pooled_shape of two sizes >= 1, "
            f"found {image}, {rois} and {cells}"
        )
    if 0 in image:
        raise InarchError(f"expected elements to pool, found shape {image}")
    rows, columns = (_cells(node, 2 - d, image[2 + d], cells[d]) for d in (0, 1))
    x = node.x(0)
    if image[0] > 1:
        which = node.graph.cast(node.reshape(node.part(node.x(1), 1, 0, 1), (rois[0],)), to=i64)
        node.indexes(which, image[0], wraps=False)
        x = node.graph.gather(x, which, axis=0)
    lowest = node.like(-np.inf, x)
    batch = rois[0] if image[0] > 1 else 1
    x = node.reshape(x, (batch, image[1], 1, image[2], image[3]))
    mask = node.reshape(rows.within, (rois[0], 1, cells[0], image[2], 1))
    x = node.graph.reduce_max(node.graph.select(mask, x, lowest), axes=[3], keepdims=False)
    x = node.reshape(x, (rois[0], image[1], cells[0], 1, image[3]))
    mask = node.reshape(columns.within, (rois[0], 1, 1, cells[1], image[3]))
    x = node.graph.reduce_max(node.graph.select(mask, x, lowest), axes=[4], keepdims=False)
    some = node.graph.logical_and(
        node.reshape(rows.some, (rois[0], 1, cells[0], 1)),
        node.reshape(columns.some, (rois[0], 1, 1, cells[1])),
    )
    return node.graph.select(some, x, 0)


def _cells(node: Node, axis: int, size: int, count: int) -> _Cells:
    """Along the axis whose begin is column `axis` of the regions: 1 is x, 2 is y."""
    first, last = (_whole(node, node.part(node.x(1), 1, at, 1)) for at in (axis, axis + 2))
    one = node.like(1, first)
    extent = node.graph.maximum(node.graph.add(node.graph.sub(last, first), one), one)
    each = node.graph.div(extent, count)
    node.room(count + 1)
    node.room(size)
    steps = np.arange(count + 1, dtype=node.dtype(1).numpy)
    ends: list[SSAValue] = []
    for rounded, part in (("floor", steps[:-1]), ("ceil", steps[1:])):
        at = node.emit(rounded, node.graph.mul(each, node.constant(part.reshape(1, -1))))
        inside = node.graph.maximum(node.graph.add(at, first), 0)
        ends.append(node.graph.minimum(inside, size))
    begin, end = (node.reshape(value, (node.shape(1)[0], count, 1)) for value in ends)
    pixels = node.constant(np.arange(size, dtype=node.dtype(1).numpy).reshape(1, 1, -1))
    within = node.graph.logical_and(
        node.graph.less_equal(begin, pixels), node.graph.less(pixels, end)
    )
    return _Cells(within, node.graph.less(ends[0], ends[1]))


def _whole(node: Node, x: SSAValue) -> SSAValue:
    """A coordinate, scaled and rounded, halves away from 0."""
    x = node.graph.mul(x, node.float("spatial_scale", 1.0))
    size = node.graph.abs(x)
    below = node.graph.floor(size)
    up = node.graph.less_equal(0.5, node.graph.sub(size, below))
    near = node.graph.select(up, node.graph.add(below, 1), below)
    is_negative = node.graph.less(x, 0)
    return node.graph.select(is_negative, node.graph.sub(0, near), near)


CONVERTERS: dict[str, Converter] = {"MaxRoiPool": _max_roi_pool}
