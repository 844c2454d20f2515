"""Elementwise arithmetic of two tensors: add, sub, mul, div, mod, maximum, minimum, pow."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from inarch.dialects._scalar import Scalar
from inarch.dialects.graph._base import Array
from inarch.dialects.graph._elementwise import BinaryOp
from inarch.lazy import np


@irdl_op_definition
class AddOp(BinaryOp):
    """`out[i] = a[i] + b[i]`, broadcast; integers wrap. Constraints: see BinaryOp."""

    name = "graph.add"

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return a + b

    def reference(self, a: Array, b: Array) -> Array:
        return np.add(a, b)


@irdl_op_definition
class SubOp(BinaryOp):
    """`out[i] = a[i] - b[i]`, broadcast; integers wrap. Constraints: see BinaryOp."""

    name = "graph.sub"

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return a - b

    def reference(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)
