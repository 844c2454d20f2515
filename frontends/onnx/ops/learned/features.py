"""What ai.onnx.ml does to features: Scaler, Normalizer, Binarizer, Imputer, FeatureVectorizer ..."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError


def _wide(node: Node) -> SSAValue:
    """The input in the dtype that one computes in: f64 for f64, else f32."""
    return node.x() if node.dtype().name == "f64" else node.cast(node.x(), "f32")


def _per_feature(node: Node, name: str, values: Sequence[float], dtype: DType) -> SSAValue:
    """Numbers that broadcast over the input: one of all, or those of the features, its last axis."""
    shape = node.shape()
    array = np.array(values, dtype.numpy)
    if len(array) == 1:
        return node.constant(array.reshape(()))
    if len(shape) not in (1, 2) or len(array) != shape[-1]:
        raise InarchError(
            f"expected one number, or one of each feature, in {name}, "
            f"found {len(array)} for an input of shape {shape}"
        )
    return node.constant(array)


def _scaler(node: Node) -> SSAValue:
    """`(x - offset) * scale`, f32; what is left out is 0, or 1."""
    x = _wide(node)
    dtype = node.dtype() if node.dtype().name == "f64" else DTYPES["f32"]
    offset, scale = node.floats("offset"), node.floats("scale")
    if offset:
        x = node.graph.sub(x, _per_feature(node, "offset", offset, dtype))
    if scale:
        x = node.graph.mul(x, _per_feature(node, "scale", scale, dtype))
    return node.cast(x, "f32")


def _normalizer(node: Node) -> SSAValue:
    """Each row over its maximum, the sum of its magnitudes, or its length; as it is where that is 0."""
    kind = node.choice("norm", ("MAX", "L1", "L2"), "MAX")
    shape = node.shape()
    if len(shape) not in (1, 2):
        raise InarchError(f"expected an input of rows of features, found shape {shape}")
    x, axes = _wide(node), [len(shape) - 1]
    if kind == "MAX":
        norm = node.graph.reduce_max(x, axes=axes, keepdims=True)
    else:
        part = node.graph.abs(x) if kind == "L1" else node.graph.mul(x, x)
        norm = node.graph.reduce_sum(part, axes=axes, keepdims=True)
    norm = node.graph.sqrt(norm) if kind == "L2" else norm
    is_zero = node.graph.equal(norm, 0)
    return node.cast(node.graph.select(is_zero, x, node.graph.div(x, norm)), "f32")


def _binarizer(node: Node) -> SSAValue:
    """1 where x > threshold, else 0, of the dtype of x."""
    x, limit = node.x(), node.float("threshold", 0.0)
    if not node.dtype().is_float:
        limit = math.floor(limit)  # integers are above it where they are above the number
    above = node.graph.less(limit, x)
    return node.graph.select(above, node.like(1, x), node.like(0, x))


def _imputer(node: Node) -> SSAValue:
    """`imputed_value` where x equals `replaced_value`, which may be NaN."""
    x, dtype = node.x(), node.dtype()
    kind = "float" if dtype.is_float else "int64"
    values: Sequence[float] = node.floats(f"imputed_value_{kind}s")
    replaced: float = node.float(f"replaced_value_{kind}", 0.0)
    if not dtype.is_float:
        values, replaced = node.ints("imputed_value_int64s"), node.int("replaced_value_int64", 0)
    if not values:
        raise InarchError(
            f"expected imputed_value_{kind}s for an input of {dtype.name}, found none"
        )
    if not dtype.is_float and any(not _fits(number, dtype) for number in (*values, replaced)):
        raise InarchError(f"expected numbers of {dtype.name}, found {[*values, replaced]}")
    if math.isnan(replaced):
        found = node.graph.not_equal(x, x)
    else:
        found = node.graph.equal(x, node.constant(np.array(replaced, dtype.numpy)))
    return node.graph.select(found, _per_feature(node, f"imputed_value_{kind}s", values, dtype), x)


def _fits(number: float, dtype: DType) -> bool:
    bounds = np.iinfo(dtype.numpy)
    return int(bounds.min) <= number <= int(bounds.max)


def _feature_vectorizer(node: Node) -> SSAValue:
    """The inputs side by side, [rows, all features], f32."""
    parts: list[SSAValue] = []
    for value in node.given():
        shape = shape_of(value)
        rows = 1 if len(shape) == 1 else shape[0] if shape else 1
        flat = node.reshape(value, (rows, math.prod(shape) // rows if rows else 0))
        parts.append(node.cast(flat, "f32"))
    sizes = [shape_of(part)[1] for part in parts]
    if (said := node.ints("inputdimensions", sizes)) != sizes:
        raise InarchError(f"expected inputdimensions {sizes} as the inputs have, found {said}")
    return parts[0] if len(parts) == 1 else node.graph.concat(*parts, axis=1)


def _array_feature_extractor(node: Node) -> SSAValue:
    """`x[..., y]`, y as a list; [1, count] of an x of rank 1."""
    shape, count = node.shape(0), math.prod(node.shape(1))
    if not shape or not count:
        raise InarchError(
            f"expected an input of rank 1 or more and an index, found shapes {shape} and {node.shape(1)}"
        )
    node.indexes(node.x(1), shape[-1], wraps=False)
    indices = node.reshape(node.x(1), (count,))
    found = node.graph.gather(node.x(0), indices, axis=len(shape) - 1)
    return node.reshape(found, (1, count)) if len(shape) == 1 else found


def _one_hot_encoder(node: Node) -> SSAValue:
    """1 where x is the category, along a new last axis, f32; 0 for all where it is none."""
    if node.has_attribute("cats_strings"):
        raise NotSupportedError("categories that are strings; number them outside the model")
    categories = node.ints("cats_int64s")
    if not categories or len(set(categories)) != len(categories):
        raise InarchError(f"expected different cats_int64s, found {categories}")
    if not node.flag("zeros", default=True):
        raise NotSupportedError("zeros = 0, an error at run time; expected zeros = 1")
    x = node.reshape(node.cast(node.x(), "i64"), (*node.shape(), 1))
    found = node.graph.equal(x, node.constant(np.array(categories, np.int64)))
    return node.cast(found, "f32")


CONVERTERS: dict[str, Converter] = {
    "ai.onnx.ml.ArrayFeatureExtractor": _array_feature_extractor,
    "ai.onnx.ml.Binarizer": _binarizer,
    "ai.onnx.ml.FeatureVectorizer": _feature_vectorizer,
    "ai.onnx.ml.Imputer": _imputer,
    "ai.onnx.ml.Normalizer": _normalizer,
    "ai.onnx.ml.OneHotEncoder": _one_hot_encoder,
    "ai.onnx.ml.Scaler": _scaler,
}
