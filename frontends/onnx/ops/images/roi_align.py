"""RoiAlign: parts of images, each resampled to one size by points between its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import i64

_MODES = ("half_pixel", "output_half_pixel")


@dataclass(frozen=True)
class _Points:
    """Along one axis of the image, for each region [regions, points]."""

    pixels: tuple[SSAValue, SSAValue]
    """The pixel before each point, and that behind it; i64"""
    weights: tuple[SSAValue, SSAValue]
    """Of both; 0 for a point that is off the image by more than a pixel"""


def _roi_align(node: Node) -> SSAValue:
    """[regions, channels, output_height, output_width] of an image [batch, channels, height, width].

    Regions: [regions, 4], each x1, y1, x2, y2; the image of each: [regions]. Each cell of a region has
    `sampling_ratio` squared points, each of the four pixels around it by their nearness: the mean of the
    points (avg), or the largest share of a pixel in a point (max). He et al. 2017, arXiv 1703.06870.
    """
    image, rois = node.shape(0), node.shape(1)
    if len(image) != 4 or len(rois) != 2 or rois[1] != 4 or node.shape(2) != rois[:1]:
        raise InarchError(
            "expected an image of rank 4, regions of shape (n, 4) and n indices, "
            f"found {image}, {rois} and {node.shape(2)}"
        )
    mode, ratio = node.text("mode", "avg"), node.int("sampling_ratio", 0)
    sizes = [node.int(name, 1) for name in ("output_height", "output_width")]
    if mode not in ("avg", "max") or min(sizes) < 1 or ratio < 0:
        raise InarchError(
            f"expected mode avg or max, sizes >= 1 and sampling_ratio >= 0, found {mode}, {sizes} and {ratio}"
        )
    if ratio == 0:
        raise NotSupportedError("sampling_ratio = 0, as many points as a region is large")
    rows = _points(node, 1, image[2], sizes[0], ratio)
    columns = _points(node, 0, image[3], sizes[1], ratio)
    shares = _shares(node, rows, columns)
    cells = (rois[0], sizes[0], ratio, sizes[1], ratio, image[1])
    if mode == "avg":
        total = reduce(node.graph.add, shares)
        found = node.graph.reduce_mean(node.reshape(total, cells), axes=[2, 4], keepdims=False)
    else:
        largest = reduce(node.graph.maximum, shares)
        found = node.graph.reduce_max(node.reshape(largest, cells), axes=[2, 4], keepdims=False)
    return node.graph.transpose(found, perm=[0, 3, 1, 2])


def _points(node: Node, axis: int, size: int, cells: int, ratio: int) -> _Points:
    """The points of all regions along an axis: 0 is x, 1 is y."""
    rois = node.x(1)
    usual = _MODES[node.opset < 16]
    half = node.choice("coordinate_transformation_mode", _MODES, usual) == "half_pixel"
    scale, offset = node.like(node.float("spatial_scale", 1.0), rois), node.like(half / 2, rois)
    begin, end = (
        node.graph.sub(node.graph.mul(node.part(rois, 1, axis + at, 1), scale), offset)
        for at in (0, 2)
    )
    extent = node.graph.sub(end, begin)
    if not half:
        extent = node.graph.maximum(extent, 1)
    cell = node.graph.div(extent, cells)
    node.room(cells, ratio)
    steps = np.arange(cells).reshape(-1, 1) + (np.arange(ratio) + 0.5) / ratio
    steps = node.constant(steps.reshape(1, -1).astype(node.dtype(1).numpy))
    at = node.graph.add(begin, node.graph.mul(cell, steps))
    return _between(node, at, size)


def _between(node: Node, at: SSAValue, size: int) -> _Points:
    low, high, zero = node.like(-1, at), node.like(size, at), node.like(0, at)
    near = node.graph.logical_and(node.graph.less_equal(low, at), node.graph.less_equal(at, high))
    last = node.like(size - 1, at)
    inside = node.graph.minimum(node.graph.maximum(at, zero), last)
    before = node.graph.floor(inside)
    behind = node.graph.minimum(node.graph.add(before, 1), last)
    share = node.graph.sub(inside, before)
    weights = (node.graph.sub(1, share), share)
    first, second = (node.graph.select(near, weight, zero) for weight in weights)
    pixels = [node.graph.cast(place, to=i64) for place in (before, behind)]
    return _Points((pixels[0], pixels[1]), (first, second))


def _shares(node: Node, rows: _Points, columns: _Points) -> Sequence[SSAValue]:
    """What the four pixels around give to each point, [regions, rows, columns, channels]."""
    batch, channels, height, width = node.shape(0)
    last = node.graph.transpose(node.x(0), perm=[0, 2, 3, 1])
    flat = node.reshape(last, (batch * height * width, channels))
    regions = node.shape(1)[0]
    node.indexes(node.x(2), batch, wraps=False)
    images = node.graph.cast(node.x(2), to=i64)
    begins = node.graph.mul(images, height * width)
    found: list[SSAValue] = []
    for row, up in zip(rows.pixels, rows.weights, strict=True):
        line = node.graph.mul(row, width)
        line = node.graph.add(line, node.reshape(begins, (regions, 1)))
        count = shape_of(line)[1]
        for column, along in zip(columns.pixels, columns.weights, strict=True):
            more = shape_of(column)[1]
            places = node.graph.add(
                node.reshape(line, (regions, count, 1)),
                node.reshape(column, (regions, 1, more)),
            )
            weight = node.graph.mul(
                node.reshape(up, (regions, count, 1, 1)),
                node.reshape(along, (regions, 1, more, 1)),
            )
            found.append(node.graph.mul(node.graph.gather(flat, places, axis=0), weight))
    return found


CONVERTERS: dict[str, Converter] = {"RoiAlign": _roi_align}
