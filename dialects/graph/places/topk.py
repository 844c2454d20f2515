"""`graph.topk`: the k largest, or smallest, elements along an axis, and where they are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.op import Array, GraphOp, Tensor, element_of, shape_of, tensor_dtype
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i1, i64, tensor


@op_definition
class TopKOp(GraphOp):
    """`values[j] = x[indices[j]]` along `axis`: the first k elements of x in order.

    That is the largest first, or the smallest; of equal ones the lower index first. NaN is larger than every
    number, as NumPy sorts. Both results have the shape of x with k elements along the axis;
    values have its dtype, indices are i64.
    C1: 0 <= axis < rank. C2: x is not of bools. C3: 0 <= k <= the size of x along the axis.
    """

    name = "graph.topk"
    x = operand_def(TensorType)
    k = prop_def(IntegerAttr.constr(type=i64))
    axis = prop_def(IntegerAttr.constr(type=i64))
    largest = prop_def(IntegerAttr.constr(type=i1), default_value=IntegerAttr(1, 1))
    values = result_def(TensorType)
    indices = result_def(TensorType)

    def check(self) -> None:
        shape, axis = shape_of(self.x), self.axis.value.data
        require(
            0 <= axis < len(shape), "C1", f"expected an axis of rank {len(shape)}, found {axis}"
        )
        found = tensor_dtype(self.x).name
        require(found != "i1", "C2", f"expected numbers, found {found}")
        k, most = self.k.value.data, shape[axis]
        require(0 <= k <= most, "C3", f"expected a k from 0 to {most}, found {k}")

    def takes_largest(self) -> bool:
        """Whether the largest elements come first."""
        return bool(self.largest.value.data)

    def infer(self) -> Sequence[Tensor]:
        axis = self.axis.value.data
        shape = list(shape_of(self.x))
        shape[axis] = self.k.value.data
        return [tensor(element_of(self.x), shape), tensor(i64, shape)]

    def reference(self, x: Array) -> tuple[Array, Array]:
        axis, k = self.axis.value.data, self.k.value.data
        if self.takes_largest():  # the last of the ascending order, whose equals come from the back
            back = np.flip(x, axis)
            order = x.shape[axis] - 1 - np.flip(np.argsort(back, axis, kind="stable"), axis)
        else:
            order = np.argsort(x, axis, kind="stable")
        indices = np.take(order, np.arange(k), axis).astype(np.int64)
        return np.take_along_axis(x, indices, axis), indices
