"""NonMaxSuppression: of boxes that overlap, those of the best scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.elements.where_true import Places, integer
from inarch.frontends.onnx.regions.repeat import repeat


@dataclass(frozen=True)
class _Boxes:
    """Corners and areas of boxes, each [batch, 1, boxes]."""

    low: tuple[SSAValue, SSAValue]
    high: tuple[SSAValue, SSAValue]
    area: SSAValue


def _suppression(node: Node) -> SSAValue:
    """[count, 3], i64: batch, class and box of what is selected.

    Of boxes [batch, n, 4] and scores [batch, classes, n].
    Of each class the box of the best score above `score_threshold`, until there are
    `max_output_boxes_per_class` or none is left; each drops those whose intersection with it is more than
    `iou_threshold` of their union. Of equal scores the first box is better.
    """
    boxes, scores = node.shape(0), node.shape(1)
    if len(boxes) != 3 or boxes[2] != 4 or len(scores) != 3 or boxes[::2] != (scores[0], 4):
        raise InarchError(
            f"expected boxes (batch, n, 4) and scores (batch, c, n), found {boxes} and {scores}"
        )
    batch, classes, n = scores
    if boxes[1] != n:
        raise InarchError(f"expected as many scores as boxes, {boxes[1]}, found {n}")
    most = min(int(node.scalar(2, "max_output_boxes_per_class")), n) if node.has(2) else 0
    if most <= 0 or batch * classes == 0:
        return node.constant(np.zeros((0, 3), np.int64))
    node.room(batch, classes, n)
    found, taken = _selected(node, _corners(node), most)
    # [iterations, batch, classes] -> [batch, classes, iterations], as they are listed.
    size = batch * classes * most
    order = [
        node.reshape(node.graph.transpose(each, perm=[1, 2, 0]), (size, *last))
        for each, last in ((found, (1,)), (taken, ()))
    ]
    pairs = np.indices((batch, classes, most)).reshape(3, size)[:2].T.astype(np.int64)
    rows = node.graph.concat(node.constant(pairs), order[0], axis=1)
    return Places.of(node, order[1]).taken(node, rows)


def _corners(node: Node) -> _Boxes:
    """Boxes are two corners that face each other, y before x.

    With `center_point_box` 1, the middle and the sides, x before y.
    """
    batch, n, _ = node.shape(0)

    def column(at: int) -> SSAValue:
        return node.reshape(node.part(node.x(0), 2, at, 1), (batch, 1, n))

    columns = [column(at) for at in range(4)]
    low: list[SSAValue] = []
    high: list[SSAValue] = []
    half = node.constant(np.array(0.5, np.float32))
    for at in range(2):
        if node.int("center_point_box", 0):
            middle, side = columns[at], node.graph.mul(columns[at + 2], half)
            pair = node.graph.sub(middle, side), node.graph.add(middle, side)
        else:
            pair = columns[at], columns[at + 2]
        low.append(node.graph.minimum(*pair))
        high.append(node.graph.maximum(*pair))
    sides = [node.graph.sub(b, a) for a, b in zip(low, high, strict=True)]
    return _Boxes((low[0], low[1]), (high[0], high[1]), node.graph.mul(*sides))


def _selected(node: Node, boxes: _Boxes, most: int) -> tuple[SSAValue, SSAValue]:
    """The box of a class in each iteration, i64, and whether there is one; [iterations, batch, classes]."""
    batch, classes, n = shape = node.shape(1)
    never = node.constant(np.array(-np.inf, np.float32))
    least = node.reshape(node.x(4), ()) if node.has(4) else never
    # A score that is NaN is above none.
    scores = node.graph.select(node.graph.greater(node.x(1), least), node.x(1), never)
    limit = node.constant(np.array(0, np.float32))
    if node.has(3):
        limit = node.reshape(node.x(3), ())
    numbers = node.constant(np.arange(n).reshape(1, 1, n))
    iterations = node.constant(np.arange(most).reshape(most, 1, 1))

    def iteration(number: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
        left, found, taken = states
        best = node.graph.argmax(left, axis=2, keepdims=True)
        top = node.graph.reduce_max(left, axes=[2], keepdims=True)
        is_there = node.graph.greater(top, never)
        is_best = node.graph.equal(numbers, best)
        drops = _overlaps(node, boxes, is_best, limit)
        gone = node.graph.logical_and(is_there, node.graph.logical_or(is_best, drops))
        left = node.graph.select(gone, never, left)
        is_now = node.graph.equal(iterations, number)
        flat = (1, batch, classes)
        found = node.graph.select(is_now, node.reshape(best, flat), found)
        now = node.graph.logical_and(is_now, node.reshape(is_there, flat))
        taken = node.graph.logical_or(taken, now)
        rest = node.graph.reduce_max(left, axes=[0, 1, 2], keepdims=False)
        return [node.graph.greater(rest, never), left, found, taken]

    states = [
        node.broadcast(scores, shape),
        node.constant(np.zeros((most, batch, classes), np.int64)),
        node.constant(np.zeros((most, batch, classes), bool)),
    ]
    goes_on = node.constant(np.array(True))
    results = repeat(node, integer(node, most), goes_on, states, iteration)
    assert results is not None, "an iteration is not converted but built"
    return results[1], results[2]


def _overlaps(node: Node, boxes: _Boxes, is_best: SSAValue, limit: SSAValue) -> SSAValue:
    """Which boxes overlap the best one of each class by more than the limit, [batch, classes, n]."""
    zero = node.constant(np.array(0, np.float32))

    def of_best(values: SSAValue) -> SSAValue:
        only = node.graph.select(is_best, values, zero)
        return node.graph.reduce_sum(only, axes=[2], keepdims=True)

    sides: list[SSAValue] = []
    for low, high in zip(boxes.low, boxes.high, strict=True):
        begin = node.graph.maximum(low, of_best(low))
        end = node.graph.minimum(high, of_best(high))
        sides.append(node.graph.maximum(node.graph.sub(end, begin), zero))
    shared = node.graph.mul(*sides)
    both = node.graph.sub(node.graph.add(boxes.area, of_best(boxes.area)), shared)
    # Nothing shared is no overlap, also of boxes without an area.
    share = node.graph.div(shared, both)
    return node.graph.logical_and(
        node.graph.greater(shared, zero), node.graph.greater(share, limit)
    )


CONVERTERS: dict[str, Converter] = {"NonMaxSuppression": _suppression}
