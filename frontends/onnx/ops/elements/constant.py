"""Operators whose value is known while importing: Constant, Shape, Size, EyeLike, Range ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.tensors import element_dtype
from inarch.frontends.report import NotSupportedError

if TYPE_CHECKING:
    from onnx import AttributeProto


_READERS: dict[str, Callable[[Node, AttributeProto], Array]] = {
    "value": lambda node, attribute: node.tensor(attribute),
    "value_float": lambda _, attribute: np.array(attribute.f, "float32"),
    "value_floats": lambda _, attribute: np.array(attribute.floats, "float32"),
    "value_int": lambda _, attribute: np.array(attribute.i, "int64"),
    "value_ints": lambda _, attribute: np.array(attribute.ints, "int64"),
}


def _constant(node: Node) -> SSAValue:
    names = [name for name in node.attributes if name.startswith(("value", "sparse_value"))]
    if len(names) != 1:
        raise InarchError(f"expected one value, found {', '.join(names) or 'none'}")
    if names[0] not in _READERS:
        raise NotSupportedError(names[0])
    array = _READERS[names[0]](node, node.attributes[names[0]])
    return node.constant(array)


def _shape(node: Node) -> SSAValue:
    """From opset 15 on, of the dimensions from `start` to before `end` alone."""
    shape = node.shape()
    end = node.int("end", len(shape))
    return node.constant(np.array(shape[node.int("start", 0) : end], "int64"))


def _size(node: Node) -> SSAValue:
    return node.constant(np.array(math.prod(node.shape()), "int64"))


def _constant_of_shape(node: Node) -> SSAValue:
    shape = node.numbers(0, "shape")
    if min(shape, default=0) < 0:
        raise InarchError(f"expected sizes >= 0, found {shape}")
    attribute = node.attribute("value")
    value = np.zeros((), "float32") if attribute is None else node.tensor(attribute)
    if value.size != 1:
        raise InarchError(f"expected a value of one element, found shape {value.shape}")
    return node.broadcast(node.constant(value.reshape(())), shape)


def _eye_like(node: Node) -> SSAValue:
    """Ones on diagonal k; of the dtype of the input, if no other is given."""
    shape = node.shape()
    if len(shape) != 2:
        raise InarchError(f"expected an input of rank 2, found shape {shape}")
    dtype = element_dtype(node.int("dtype", 0)) if node.has_attribute("dtype") else node.dtype()
    node.room(*shape, itemsize=dtype.nbytes)
    return node.constant(np.eye(*shape, node.int("k", 0), np.dtype(dtype.numpy)))


def _range(node: Node) -> SSAValue:
    """`start + i * delta` while that is before `limit`."""
    start, limit, delta = (
        node.scalar(index, name) for index, name in enumerate(("start", "limit", "delta"))
    )
    dtypes = [node.dtype(index).name for index in range(3)]
    if len(set(dtypes)) != 1:
        raise InarchError(f"expected one dtype, found {', '.join(dtypes)}")
    if delta == 0 or not all(math.isfinite(number) for number in (start, limit, delta)):
        raise InarchError(f"expected a range that ends, found {start} to {limit} by {delta}")
    dtype = np.dtype(node.dtype().numpy)
    is_float = node.dtype().is_float
    steps = math.ceil((limit - start) / delta) if is_float else -((start - limit) // delta)
    count = max(0, steps)
    node.room(count)
    return node.constant((start + np.arange(count) * delta).astype(dtype))


CONVERTERS: dict[str, Converter] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "EyeLike": _eye_like,
    "Range": _range,
    "Shape": _shape,
    "Size": _size,
}
