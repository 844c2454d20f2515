"""Constants between the IR and NumPy: small ones inline (`dense`), the rest as handles into the store."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import TypeGuard, cast

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute

from inarch.core.dtypes import from_numpy
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.ir.context import ConstantStore
from inarch.ir.types import dtype_of, mlir_type

ConstantAttr = DenseIntOrFPElementsAttr | DenseResourceAttr

INLINE_ELEMENTS = 16
"""Constants of at most this many elements are printed in the text; larger ones are handles."""


def is_constant(value: object) -> TypeGuard[ConstantAttr]:
    """Whether it is what a constant is made of."""
    return isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)


def constant_type(value: ConstantAttr) -> TensorType[Attribute]:
    """The type of a constant, whose shape is static."""
    return cast("TensorType[Attribute]", value.type)


def constant_array(value: ConstantAttr, store: ConstantStore) -> Array:
    """The (read-only) array of a constant; a handle is looked up in `store` without a copy.

    Raises InarchError for a handle whose bytes are no array of the constant's type.
    """
    shape = tuple(value.type.get_shape())
    dtype = np.dtype(dtype_of(constant_type(value).element_type).numpy)
    if isinstance(value, DenseResourceAttr):
        data: memoryview | bytes = store.get(value.resource_handle.data)
        _check_bytes(value, data, dtype.itemsize, math.prod(shape))
    elif dtype.name == "bool":
        data = np.array(value.get_values(), dtype).tobytes()
    else:
        data = value.data.data
    if len(data) == dtype.itemsize and math.prod(shape) != 1:  # a splat holds one element
        return np.broadcast_to(np.frombuffer(data, dtype).reshape((1,) * len(shape)), shape)
    return np.frombuffer(data, dtype).reshape(shape)


def _check_bytes(
    value: DenseResourceAttr, data: memoryview | bytes, itemsize: int, count: int
) -> None:
    """What a side file has for a handle is anybody's: another model's, or bytes that are no bools."""
    role = f"constant '{value.resource_handle.data}': expected"
    if len(data) not in (itemsize * count, itemsize):
        raise InarchError(f"{role} {itemsize * count} bytes of {value.type}, found {len(data)}")
    if constant_type(value).element_type == i1:
        largest = np.frombuffer(data, np.uint8).max(initial=0)
        if largest > 1:
            raise InarchError(f"{role} bools of 0 or 1, found a byte of {largest}")


def constant_attribute(array: Array, store: ConstantStore, name: str = "constant") -> ConstantAttr:
    """`array` as an attribute: `dense` up to 16 elements, else a handle called `name` in `store`.

    The array must not change afterwards: the store keeps its memory, not a copy.
    """
    element = mlir_type(from_numpy(array.dtype.name))
    kind = TensorType(element, array.shape)
    if array.size <= INLINE_ELEMENTS:
        if array.dtype.name == "bool":
            return DenseIntOrFPElementsAttr.from_list(kind, [int(v) for v in array.ravel()])  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        return DenseIntOrFPElementsAttr(kind, BytesAttr(array.tobytes()))  # pyright: ignore[reportArgumentType]
    return DenseResourceAttr.from_params(store.put(name, _bytes(array)), kind)  # pyright: ignore[reportArgumentType]


def later_constant(
    make: Callable[[], Array],
    kind: TensorType[Attribute],
    store: ConstantStore,
    name: str,
    made: tuple[Array, Hashable] | None,
) -> ConstantAttr:
    """As `constant_attribute` of `make()`, which is of type `kind` and made anew whenever it is read.

    `made`: of which array, and how; equal for equal results, which a pool then need not make again. None
    where that array is not there.
    """
    if math.prod(kind.get_shape()) <= INLINE_ELEMENTS:
        return constant_attribute(make(), store, name)
    source = (_bytes(made[0]), made[1]) if made and made[0].flags.c_contiguous else None
    return DenseResourceAttr.from_params(store.put(name, lambda: _bytes(make()), source), kind)  # pyright: ignore[reportArgumentType]


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
