"""What the models of ai.onnx.ml do with their scores: `post_transform`, and class labels.

The formulas are those of onnxruntime's `core/providers/cpu/ml/ml_common.h`; scores are f32.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Node
from inarch.frontends.report import NotSupportedError

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

_NEAR_ZERO = 1e-7
"""SOFTMAX_ZERO leaves scores that are nearer to 0 out of the sum."""

_WINITZKI = 0.147
"""Of the approximation of the inverse error function: S. Winitzki, "A handy approximation for the error
function and its inverse", 2008."""


def transform_of(node: Node) -> str:
    """The attribute `post_transform`, one of TRANSFORMS."""
    return node.choice("post_transform", TRANSFORMS, "NONE")


def rows_of(node: Node) -> SSAValue:
    """The input, [rows, features]; a list of features is one row."""
    shape = node.shape()
    if len(shape) not in (1, 2):
        raise InarchError(f"expected an input of rows of features, found shape {shape}")
    return node.reshape(node.x(), (1, *shape)) if len(shape) == 1 else node.x()


def transformed(node: Node, scores: SSAValue, transform: str) -> SSAValue:
    """Scores [rows, classes] after one of TRANSFORMS."""
    if transform == "LOGISTIC":
        return node.graph.sigmoid(scores)
    if transform == "SOFTMAX":
        return node.graph.softmax(scores, axis=1)
    if transform == "SOFTMAX_ZERO":
        return _softmax_zero(node, scores)
    return _probit(node, scores) if transform == "PROBIT" else scores


def finished(node: Node, scores: SSAValue, transform: str) -> SSAValue:
    """Scores of a regression; of one target, PROBIT alone is applied, as onnxruntime does."""
    if shape_of(scores)[1] == 1 and transform != "PROBIT":
        return scores
    return transformed(node, scores, transform)


def _softmax_zero(node: Node, scores: SSAValue) -> SSAValue:
    """`exp(x - m) / sum` with m the maximum; where x is 0, `x * exp(-m) / sum`, and not in the sum."""
    largest = node.graph.reduce_max(scores, axes=[1], keepdims=True)
    powers = node.graph.exp(node.graph.sub(scores, largest))
    zero = node.like(0, scores)
    counts = node.graph.less(_NEAR_ZERO, node.graph.abs(scores))
    total = node.graph.reduce_sum(node.graph.select(counts, powers, zero), axes=[1], keepdims=True)
    small = node.graph.mul(scores, node.graph.exp(node.graph.neg(largest)))
    return node.graph.div(node.graph.select(counts, powers, small), total)


def _probit(node: Node, scores: SSAValue) -> SSAValue:
    """`sqrt(2) * erfinv(2 x - 1)`, by Winitzki's approximation of erfinv."""
    x = node.graph.sub(node.graph.mul(scores, 2), 1)
    one = node.like(1, x)
    inside = node.graph.mul(node.graph.sub(one, x), node.graph.add(one, x))
    log = node.graph.log(inside)
    # Onnxruntime has pi as 3.14159 here.
    shift = node.like(2 / (3.14159 * _WINITZKI), x)
    v = node.graph.add(shift, node.graph.mul(log, 0.5))
    ratio = node.graph.mul(log, 1 / _WINITZKI)
    root = node.graph.sqrt(node.graph.sub(node.graph.mul(v, v), ratio))
    size = node.graph.sqrt(node.graph.sub(root, v))
    negative = node.graph.less(x, 0)
    signed = node.graph.select(negative, node.graph.neg(size), size)
    return node.graph.mul(signed, math.sqrt(2))


def two_columns(node: Node, score: SSAValue, transform: str, *, complement: bool) -> SSAValue:
    """The scores [rows, 2] of two classes from that of the second, [rows, 1].

    The first is `1 - score` where they are `complement`s, else `-score`; of transforms LOGISTIC alone is
    applied.
    """
    if transform == "PROBIT":
        # Onnxruntime leaves the second score unwritten.
        raise NotSupportedError("post_transform PROBIT of two classes with one score")
    if transform == "LOGISTIC":
        pair = [node.graph.sigmoid(node.graph.neg(score)), node.graph.sigmoid(score)]
    elif complement:
        pair = [node.graph.sub(1, score), score]
    else:
        pair = [node.graph.neg(score), score]
    return node.graph.concat(*pair, axis=1)


def labels_of(node: Node, name: str) -> list[int]:
    """The integer class labels, attribute `name`. Raises NotSupportedError where they are strings."""
    if node.texts("classlabels_strings"):
        raise NotSupportedError(
            "class labels that are strings; give the classes numbers, classlabels 0, 1, ..., "
            "and look the strings up outside the model"
        )
    found = node.ints(name)
    if not found:
        raise InarchError(f"expected class labels, attribute '{name}', found none")
    return found


def picked(node: Node, labels: Array, at: SSAValue) -> SSAValue:
    """`labels[at]`, [rows]; the labels are i64."""
    return node.graph.gather(node.constant(labels), at, axis=0)


def above(node: Node, score: SSAValue, limit: float, labels: tuple[int, int]) -> SSAValue:
    """`labels[score > limit]`, [rows], of scores [rows, 1]."""
    low, high = (node.constant(np.array(label, np.int64)) for label in labels)
    flat = node.reshape(score, shape_of(score)[:1])
    is_above = node.graph.less(limit, flat)
    return node.graph.select(is_above, high, low)
