"""MaxRoiPool: the largest elements of the cells of regions of images."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.elementwise.arithmetic import (
    AddOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    SubOp,
)
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.logic import LessEqualOp, LessOp, LogicalAndOp
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.elementwise.unary import AbsOp, CeilOp, FloorOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.reduce import ReduceMaxOp
from inarch.dialects.graph.shape import SliceOp
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
        which = node.emit(CastOp, node.reshape(_column(node, 0), (rois[0],)), to=i64)
        node.indexes(which, image[0], wraps=False)
        x = node.emit(GatherOp, x, which, axis=0)
    lowest = node.like(-np.inf, x)
    batch = rois[0] if image[0] > 1 else 1
    x = node.reshape(x, (batch, image[1], 1, image[2], image[3]))
    mask = node.reshape(rows.within, (rois[0], 1, cells[0], image[2], 1))
    x = node.emit(ReduceMaxOp, node.emit(SelectOp, mask, x, lowest), axes=[3], keepdims=False)
    x = node.reshape(x, (rois[0], image[1], cells[0], 1, image[3]))
    mask = node.reshape(columns.within, (rois[0], 1, 1, cells[1], image[3]))
    x = node.emit(ReduceMaxOp, node.emit(SelectOp, mask, x, lowest), axes=[4], keepdims=False)
    some = node.emit(
        LogicalAndOp,
        node.reshape(rows.some, (rois[0], 1, cells[0], 1)),
        node.reshape(columns.some, (rois[0], 1, 1, cells[1])),
    )
    return node.emit(SelectOp, some, x, node.like(0, x))


def _cells(node: Node, axis: int, size: int, count: int) -> _Cells:
    """Along the axis whose begin is column `axis` of the regions: 1 is x, 2 is y."""
    first, last = (_whole(node, _column(node, at)) for at in (axis, axis + 2))
    one = node.like(1, first)
    extent = node.emit(MaximumOp, node.emit(AddOp, node.emit(SubOp, last, first), one), one)
    each = node.emit(DivOp, extent, node.like(count, extent))
    node.room(count + 1)
    node.room(size)
    steps = np.arange(count + 1, dtype=node.dtype(1).numpy)
    ends: list[SSAValue] = []
    for rounded, part in ((FloorOp, steps[:-1]), (CeilOp, steps[1:])):
        at = node.emit(rounded, node.emit(MulOp, each, node.constant(part.reshape(1, -1))))
        inside = node.emit(MaximumOp, node.emit(AddOp, at, first), node.like(0, at))
        ends.append(node.emit(MinimumOp, inside, node.like(size, at)))
    begin, end = (node.reshape(value, (node.shape(1)[0], count, 1)) for value in ends)
    pixels = node.constant(np.arange(size, dtype=node.dtype(1).numpy).reshape(1, 1, -1))
    within = node.emit(
        LogicalAndOp, node.emit(LessEqualOp, begin, pixels), node.emit(LessOp, pixels, end)
    )
    return _Cells(within, node.emit(LessOp, ends[0], ends[1]))


def _column(node: Node, index: int) -> SSAValue:
    """One number of each region, [regions, 1]."""
    count = node.shape(1)[0]
    return node.emit(SliceOp, node.x(1), starts=[0, index], sizes=[count, 1], steps=[1, 1])


def _whole(node: Node, x: SSAValue) -> SSAValue:
    """A coordinate, scaled and rounded, halves away from 0."""
    x = node.emit(MulOp, x, node.like(node.float("spatial_scale", 1.0), x))
    size = node.emit(AbsOp, x)
    below = node.emit(FloorOp, size)
    up = node.emit(LessEqualOp, node.like(0.5, x), node.emit(SubOp, size, below))
    near = node.emit(SelectOp, up, node.emit(AddOp, below, node.like(1, x)), below)
    is_negative = node.emit(LessOp, x, node.like(0, x))
    return node.emit(SelectOp, is_negative, node.emit(SubOp, node.like(0, x), near), near)


CONVERTERS: dict[str, Converter] = {"MaxRoiPool": _max_roi_pool}
