"""`graph.scatter_elements` and `graph.scatter_nd`: updates of data at an array of indices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.op import Array, GraphOp, Tensor, shape_of, tensor_dtype, tensor_of
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64

STEPS: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "none": lambda _, update: update,
    "add": lambda held, update: held + update,
    "mul": lambda held, update: held * update,
    "max": lambda held, update: held.maximum(update),
    "min": lambda held, update: held.minimum(update),
}
"""What an element becomes, by the name of the reduction."""
_UFUNCS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}


class ScatterOp(GraphOp):
    """`out = data`, then for each update, in row-major order: `out[place] = f(out[place], update)`.

    So of several updates of one place without a reduction the last one stays; sums are rounded after each
    step, in this order. `out` has the shape and the dtype of data, which may be any; NaN stays NaN in each
    reduction. An index runs from -size to size - 1, and negative ones count from the end; an update with an
    index outside is dropped, where ONNX leaves it undefined.
    C1: indices are i32 or i64. C2: updates have the dtype of data. C3: the reduction is "none", "add",
    "mul", "max" or "min"; of bools, "none".
    """

    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    reduction = prop_def(StringAttr, default_value=StringAttr("none"))
    out = result_def(TensorType)

    def check(self) -> None:
        found = tensor_dtype(self.indices).name
        require(found in ("i32", "i64"), "C1", f"expected indices of i32 or i64, found {found}")
        data, updates = tensor_dtype(self.data).name, tensor_dtype(self.updates).name
        require(data == updates, "C2", f"expected updates of {data}, found {updates}")
        name = self.reduction.data
        known = ", ".join(STEPS)
        require(name in STEPS, "C3", f"expected a reduction of {known}, found {name}")
        message = f"expected no reduction of bools, found {name}"
        require(data != "i1" or name == "none", "C3", message)
        self.check_shapes()

    @abstractmethod
    def check_shapes(self) -> None:
        """The constraints of the shapes."""

    @abstractmethod
    def places(self, indices: Array, updates: Array) -> tuple[Array, ...]:
        """By dimension of data, the index of each update, as it is given; all of the shape of updates."""

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(self.data)]

    def reference(self, data: Array, indices: Array, updates: Array) -> Array:
        out = data.copy()
        inside = np.ones(updates.shape, bool)
        counted: list[Array] = []
        for index, size in zip(self.places(indices, updates), data.shape, strict=True):
            place = np.where(index < 0, index + size, index)
            inside &= (place >= 0) & (place < size)
            counted.append(place)
        chosen = tuple(place[inside] for place in counted)
        name = self.reduction.data
        if name != "none":
            getattr(np, _UFUNCS[name]).at(out, chosen, updates[inside])
            return out
        if chosen and chosen[0].size:  # NumPy leaves open which of several stays
            flat = np.ravel_multi_index(chosen, data.shape)[::-1]
            _, last = np.unique(flat, return_index=True)
            out.reshape(-1)[flat[last]] = updates[inside][::-1][last]
        return out


@op_definition
class ScatterElementsOp(ScatterOp):
    """`place` of `updates[i]` is i with `indices[i]` along `axis`. See ScatterOp.

    C4: data has a dimension, and 0 <= axis < rank. C5: updates have the shape of indices, which is of the
    rank of data and at most as long along each other axis.
    """

    axis = prop_def(IntegerAttr.constr(type=i64))

    def check_shapes(self) -> None:
        axis, data = self.axis.value.data, shape_of(self.data)
        require(0 <= axis < len(data), "C4", f"expected an axis of rank {len(data)}, found {axis}")
        indices, updates = shape_of(self.indices), shape_of(self.updates)
        message = f"expected updates of the shape of indices, {indices}, found {updates}"
        require(indices == updates, "C5", message)
        fits = len(indices) == len(data) and all(
            found <= size
            for d, (found, size) in enumerate(zip(indices, data, strict=True))
            if d != axis
        )
        message = f"expected indices within {data} but for axis {axis}, found shape {indices}"
        require(fits, "C5", message)

    def places(self, indices: Array, updates: Array) -> tuple[Array, ...]:
        found: list[Array] = _indices(indices.shape)
        found[self.axis.value.data] = indices.astype(np.int64)
        return tuple(found)


@op_definition
class ScatterNdOp(ScatterOp):
    """`place` of `updates[i.., j..]` is `indices[i.., :], j..`: rows of indices name slices. See ScatterOp.

    C4: indices have a dimension, and 1 <= its last size <= rank of data. C5: updates have the shape
    `indices[:-1] + data[rows' length:]`.
    """

    def check_shapes(self) -> None:
        data, indices = shape_of(self.data), shape_of(self.indices)
        fits = bool(indices) and 1 <= indices[-1] <= len(data)
        message = f"expected rows of 1 to {len(data)} indices, found shape {indices}"
        require(fits, "C4", message)
        wanted, found = (*indices[:-1], *data[indices[-1] :]), shape_of(self.updates)
        require(wanted == found, "C5", f"expected updates of shape {wanted}, found {found}")

    def places(self, indices: Array, updates: Array) -> tuple[Array, ...]:
        rows, depth = len(indices.shape) - 1, indices.shape[-1]
        rest = len(updates.shape) - rows
        shape = (*indices.shape[:-1], *(1,) * rest)
        named = [
            np.broadcast_to(indices[..., n].astype(np.int64).reshape(shape), updates.shape)
            for n in range(depth)
        ]
        rest_places: list[Array] = _indices(updates.shape)[rows:]
        return (*named, *rest_places)


def _indices(shape: Sequence[int]) -> list[Array]:
    """By dimension, the index of each element."""
    every: Any = np.indices(shape)
    return list(every)
