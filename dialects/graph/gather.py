"""`graph.gather`: slices picked by an array of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.op import Array, GraphOp, Tensor, element_of, shape_of, tensor_dtype
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64, tensor


@op_definition
class GatherOp(GraphOp):
    """`out[a.., i.., b..] = data[a.., indices[i..], b..]`, where `a..` are `axis` dimensions.

    So `out` has the shape `data[:axis] + indices + data[axis + 1:]` and the dtype of data, which
    may be any. An index runs from -size to size - 1; negative ones count from the end, and any other
    reads the nearest element, where ONNX leaves it undefined. C1: 0 <= axis < rank of data. C2: indices
    are i32 or i64. C3: data has an element along the axis, unless out has none.
    """

    MOVES: ClassVar[bool] = True
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i64))
    out = result_def(TensorType)

    def check(self) -> None:
        axis, rank = self.axis.value.data, len(shape_of(self.data))
        require(0 <= axis < rank, "C1", f"expected an axis of rank {rank}, found {axis}")
        found = tensor_dtype(self.indices).name
        require(found in ("i32", "i64"), "C2", f"expected indices of i32 or i64, found {found}")
        (out,) = self.infer()
        nothing = shape_of(self.data)[axis] == 0 and 0 not in out.get_shape()
        require(not nothing, "C3", f"expected an element along axis {axis} to pick, found none")

    def infer(self) -> Sequence[Tensor]:
        axis, data = self.axis.value.data, shape_of(self.data)
        shape = (*data[:axis], *shape_of(self.indices), *data[axis + 1 :])
        return [tensor(element_of(self.data), shape)]

    def reference(self, data: Array, indices: Array) -> Array:
        axis = self.axis.value.data
        size = data.shape[axis]
        if size == 0:
            shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
            return np.empty(shape, data.dtype)
        counted = np.where(indices < 0, indices + size, indices)
        return np.take(data, np.clip(counted, 0, size - 1), axis=axis)
