"""LinearClassifier and LinearRegressor, of ai.onnx.ml: a product with coefficients, then a transform."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.learned._scores import (
    above,
    finished,
    labels_of,
    picked,
    rows_of,
    transform_of,
    transformed,
    two_columns,
)


def _products(node: Node, targets: int | None) -> SSAValue:
    """`x @ coefficients' + intercepts`, [rows, targets], f32; None: as many targets as fit."""
    x = node.cast(rows_of(node), "f32")
    width = shape_of(x)[1]
    coefficients = np.array(node.floats("coefficients"), np.float32)
    intercepts = np.array(node.floats("intercepts"), np.float32)
    if targets is None:
        targets = len(intercepts) or len(coefficients) // max(1, width)
    if targets < 1 or len(coefficients) != targets * width or len(intercepts) not in (0, targets):
        raise InarchError(
            f"expected {width} coefficients and at most one intercept of each of {targets} targets, "
            f"found {len(coefficients)} and {len(intercepts)}"
        )
    matrix = np.ascontiguousarray(coefficients.reshape(targets, width).T)
    product = node.graph.matmul(x, node.constant(matrix))
    if not len(intercepts):
        return product
    return node.graph.add(product, node.constant(intercepts))


def _regressor(node: Node) -> SSAValue:
    """[rows, targets], f32."""
    return finished(node, _products(node, node.int("targets", 1)), transform_of(node))


def _classifier(node: Node) -> Sequence[SSAValue]:
    """Labels [rows], i64, and scores [rows, classes], f32.

    Of one set of coefficients, there are two classes, and the label is the second where the score is above
    0. Their scores are `1 - score` and `score`, as onnxruntime has them; of transforms LOGISTIC is applied.
    """
    labels, transform = labels_of(node, "classlabels_ints"), transform_of(node)
    scores = _products(node, None)
    classes = shape_of(scores)[1]
    if len(labels) != max(2, classes):
        raise InarchError(f"expected {max(2, classes)} class labels, found {len(labels)}")
    if classes > 1:
        largest = node.graph.argmax(scores, axis=1, keepdims=False)
        label = picked(node, np.array(labels, np.int64), largest)
        return [label, transformed(node, scores, transform)]
    label = above(node, scores, 0, (labels[0], labels[1]))
    return [label, two_columns(node, scores, transform, complement=True)]


CONVERTERS: dict[str, Converter] = {
    "ai.onnx.ml.LinearClassifier": _classifier,
    "ai.onnx.ml.LinearRegressor": _regressor,
}
