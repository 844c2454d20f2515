"""SVMRegressor and SVMClassifier, of ai.onnx.ml: kernels of the rows with the support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.learned._scores import (
    labels_of,
    picked,
    rows_of,
    transform_of,
    transformed,
    two_columns,
)
from inarch.frontends.report import NotSupportedError

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _numbers(node: Node, name: str) -> Array:
    return np.array(node.floats(name), np.float32)


def _kernel(node: Node, x: SSAValue, vectors: Array, kind: str) -> SSAValue:
    """[rows, vectors]: `x v`, `(g x v + c)**d`, `exp(-g |x - v|**2)` or `tanh(g x v + c)`."""
    gamma, coefficient, degree = _parameters(node)
    if kind == "RBF":
        return _radial(node, x, vectors, gamma)
    product = node.graph.matmul(x, node.constant(np.ascontiguousarray(vectors.T)))
    if kind == "LINEAR":
        return product
    scaled = node.graph.mul(product, gamma)
    shifted = node.graph.add(scaled, coefficient)
    if kind == "SIGMOID":
        return node.graph.tanh(shifted)
    return node.graph.pow(shifted, degree)


def _radial(node: Node, x: SSAValue, vectors: Array, gamma: float) -> SSAValue:
    """Of differences, and not of products, which lose the digits of what is near."""
    rows, width = shape_of(x)
    apart = node.graph.sub(
        node.reshape(x, (rows, 1, width)),
        node.constant(vectors.reshape(1, *vectors.shape)),
    )
    square = node.graph.mul(apart, apart)
    distance = node.graph.reduce_sum(square, axes=[2], keepdims=False)
    return node.graph.exp(node.graph.mul(distance, -gamma))


def _parameters(node: Node) -> tuple[float, float, float]:
    found = node.floats("kernel_params", [0.0, 0.0, 0.0])
    if len(found) != 3:
        raise InarchError(f"expected 3 kernel_params, found {found}")
    return found[0], found[1], found[2]


def _kind(node: Node) -> str:
    found = node.text("kernel_type", "LINEAR")
    if found not in _KERNELS:
        raise InarchError(f"expected kernel_type {', '.join(_KERNELS)}, found '{found}'")
    return found


def _vectors(node: Node, count: int, width: int) -> Array:
    found = _numbers(node, "support_vectors")
    if found.size != count * width:
        raise InarchError(
            f"expected {count} support_vectors of {width} features, found {found.size} numbers"
        )
    return found.reshape(count, width)


def _regressor(node: Node) -> SSAValue:
    """`sum of coefficient * kernel(x, v) + rho`, [rows, 1], f32; of one class 1 above 0, else -1."""
    if transform_of(node) != "NONE":
        raise NotSupportedError("post_transform")  # which onnxruntime ignores
    x = node.cast(rows_of(node), "f32")
    width, count = shape_of(x)[1], node.int("n_supports", 0)
    coefficients, rho = _numbers(node, "coefficients"), _numbers(node, "rho")
    if len(rho) != 1 or len(coefficients) != (count or width):
        raise InarchError(
            f"expected {count or width} coefficients and 1 rho, found {len(coefficients)} and {len(rho)}"
        )
    kernels = _kernel(node, x, _vectors(node, count, width), _kind(node)) if count else x
    product = node.graph.matmul(kernels, node.constant(coefficients.reshape(-1, 1)))
    found = node.graph.add(product, node.constant(rho))
    if not node.flag("one_class", default=False):
        return found
    inside = node.graph.less(0, found)
    return node.graph.select(inside, node.like(1, found), -1)


def _classifier(node: Node) -> Sequence[SSAValue]:
    """Labels [rows], i64: the class that wins most pairs; and scores, f32, one a pair of classes.

    Of two classes both scores are those of the pair; without support vectors there is one score a class.
    """
    labels, transform = labels_of(node, "classlabels_ints"), transform_of(node)
    if node.has_attribute("prob_a") or node.has_attribute("prob_b"):
        raise NotSupportedError("probabilities of pairs, prob_a and prob_b")
    if len(labels) < 2:
        raise NotSupportedError(f"{len(labels)} class")
    x = node.cast(rows_of(node), "f32")
    counts = node.ints("vectors_per_class")
    if not sum(counts):
        raise NotSupportedError("a classifier without support vectors; expected LinearClassifier")
    if len(counts) != len(labels) or min(counts) < 0:
        raise InarchError(f"expected vectors_per_class of {len(labels)} classes, found {counts}")
    kernels = _kernel(node, x, _vectors(node, sum(counts), shape_of(x)[1]), _kind(node))
    matrix, rho = _pairs(node, counts)
    scores = node.graph.add(node.graph.matmul(kernels, node.constant(matrix)), node.constant(rho))
    label = picked(node, np.array(labels, np.int64), _winners(node, scores, len(labels)))
    if len(labels) > 2:
        return [label, transformed(node, scores, transform)]
    return [label, two_columns(node, scores, transform, complement=transform != "NONE")]


def _pairs(node: Node, counts: Sequence[int]) -> tuple[Array, Array]:
    """[vectors, pairs]: the coefficients of each pair of classes, and what is added, [pairs].

    Those of class i against j are in row j - 1 of `coefficients`, and of j against i, i < j, in row i.
    """
    classes, total = len(counts), sum(counts)
    pairs = list(combinations(range(classes), 2))
    given, rho = _numbers(node, "coefficients"), _numbers(node, "rho")
    if given.size != (classes - 1) * total or rho.size != len(pairs):
        raise InarchError(
            f"expected {(classes - 1) * total} coefficients and {len(pairs)} rho, "
            f"found {given.size} and {rho.size}"
        )
    rows, ends = given.reshape(classes - 1, total), np.cumsum(counts)
    spans = [slice(int(end) - count, int(end)) for end, count in zip(ends, counts, strict=True)]
    matrix = np.zeros((total, len(pairs)), np.float32)
    for pair, (i, j) in enumerate(pairs):
        matrix[spans[i], pair] = rows[j - 1, spans[i]]
        matrix[spans[j], pair] = rows[i, spans[j]]
    return matrix, rho


def _winners(node: Node, scores: SSAValue, classes: int) -> SSAValue:
    """[rows]: which class won most pairs, the first of equals; a pair's first wins where the score is > 0."""
    pairs = list(combinations(range(classes), 2))
    wins = node.cast(node.graph.less(0, scores), "f32")
    won = np.zeros((len(pairs), classes), np.float32)
    lost = np.zeros(classes, np.float32)
    for pair, (i, j) in enumerate(pairs):
        won[pair, i], won[pair, j] = 1, -1
        lost[j] += 1
    votes = node.graph.add(node.graph.matmul(wins, node.constant(won)), node.constant(lost))
    return node.graph.argmax(votes, axis=1, keepdims=False)


CONVERTERS: dict[str, Converter] = {
    "ai.onnx.ml.SVMClassifier": _classifier,
    "ai.onnx.ml.SVMRegressor": _regressor,
}
