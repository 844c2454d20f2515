"""What the models of ai.onnx.ml do with their scores: `post_transform`, and class labels.

The formulas are those of onnxruntime's `core/providers/cpu/ml/ml_common.h`; scores are f32.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.composites.softmax import SoftmaxOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, DivOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.logic import LessOp
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.elementwise.unary import (
    AbsOp,
    ExpOp,
    LogOp,
    NegOp,
    SigmoidOp,
    SqrtOp,
)
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.reduce import ReduceMaxOp, ReduceSumOp
from inarch.dialects.graph.shape import ConcatOp
from inarch.frontends.onnx.node import Node
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

_NEAR_ZERO = 1e-7
"""SOFTMAX_ZERO leaves scores that are nearer to 0 out of the sum."""

_WINITZKI = 0.147
"""Of the approximation of the inverse error function: S. Winitzki, "A handy approximation for the error
function and its inverse", 2008."""


def transform_of(node: Node) -> str:
    """The attribute `post_transform`, one of TRANSFORMS."""
    found = node.text("post_transform", "NONE")
    if found not in TRANSFORMS:
        raise InarchError(
            f"expected post_transform {', '.join(TRANSFORMS[:-1])} or {TRANSFORMS[-1]}, found '{found}'"
        )
    return found


def cast(node: Node, value: SSAValue, dtype: str) -> SSAValue:
    """`value` in another dtype; itself when it has that."""
    if tensor_dtype(value).name == dtype:
        return value
    return node.emit(CastOp, value, to=mlir_type(dtype))


def rows_of(node: Node) -> SSAValue:
    """The input, [rows, features]; a list of features is one row."""
    shape = node.shape()
    if len(shape) not in (1, 2):
        raise InarchError(f"expected an input of rows of features, found shape {shape}")
    return node.reshape(node.x(), (1, *shape)) if len(shape) == 1 else node.x()


def transformed(node: Node, scores: SSAValue, transform: str) -> SSAValue:
    """Scores [rows, classes] after one of TRANSFORMS."""
    if transform == "LOGISTIC":
        return node.emit(SigmoidOp, scores)
    if transform == "SOFTMAX":
        return node.emit(SoftmaxOp, scores, axis=1)
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
    largest = node.emit(ReduceMaxOp, scores, axes=[1], keepdims=True)
    powers = node.emit(ExpOp, node.emit(SubOp, scores, largest))
    zero = node.like(0, scores)
    counts = node.emit(LessOp, node.like(_NEAR_ZERO, scores), node.emit(AbsOp, scores))
    total = node.emit(
        ReduceSumOp, node.emit(SelectOp, counts, powers, zero), axes=[1], keepdims=True
    )
    small = node.emit(MulOp, scores, node.emit(ExpOp, node.emit(NegOp, largest)))
    return node.emit(DivOp, node.emit(SelectOp, counts, powers, small), total)


def _probit(node: Node, scores: SSAValue) -> SSAValue:
    """`sqrt(2) * erfinv(2 x - 1)`, by Winitzki's approximation of erfinv."""
    x = node.emit(SubOp, node.emit(MulOp, scores, node.like(2, scores)), node.like(1, scores))
    one = node.like(1, x)
    inside = node.emit(MulOp, node.emit(SubOp, one, x), node.emit(AddOp, one, x))
    log = node.emit(LogOp, inside)
    # Onnxruntime has pi as 3.14159 here.
    shift = node.like(2 / (3.14159 * _WINITZKI), x)
    v = node.emit(AddOp, shift, node.emit(MulOp, log, node.like(0.5, x)))
    ratio = node.emit(MulOp, log, node.like(1 / _WINITZKI, x))
    root = node.emit(SqrtOp, node.emit(SubOp, node.emit(MulOp, v, v), ratio))
    size = node.emit(SqrtOp, node.emit(SubOp, root, v))
    negative = node.emit(LessOp, x, node.like(0, x))
    signed = node.emit(SelectOp, negative, node.emit(NegOp, size), size)
    return node.emit(MulOp, signed, node.like(math.sqrt(2), x))


def two_columns(node: Node, score: SSAValue, transform: str, *, complement: bool) -> SSAValue:
    """The scores [rows, 2] of two classes from that of the second, [rows, 1].

    The first is `1 - score` where they are `complement`s, else `-score`; of transforms LOGISTIC alone is
    applied.
    """
    if transform == "PROBIT":
        # Onnxruntime leaves the second score unwritten.
        raise NotSupportedError("post_transform PROBIT of two classes with one score")
    if transform == "LOGISTIC":
        pair = [node.emit(SigmoidOp, node.emit(NegOp, score)), node.emit(SigmoidOp, score)]
    elif complement:
        pair = [node.emit(SubOp, node.like(1, score), score), score]
    else:
        pair = [node.emit(NegOp, score), score]
    return node.emit(ConcatOp, *pair, axis=1)


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
    return node.emit(GatherOp, node.constant(labels), at, axis=0)


def above(node: Node, score: SSAValue, limit: float, labels: tuple[int, int]) -> SSAValue:
    """`labels[score > limit]`, [rows], of scores [rows, 1]."""
    low, high = (node.constant(np.array(label, np.int64)) for label in labels)
    flat = node.reshape(score, shape_of(score)[:1])
    is_above = node.emit(LessOp, node.like(limit, flat), flat)
    return node.emit(SelectOp, is_above, high, low)
