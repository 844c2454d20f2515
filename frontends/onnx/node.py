"""What a converter sees: one node, its operands, its attributes, and a way to build ops.

A converter is a function from a `Node` to the node's outputs. Arity, attribute names and attribute
types have been checked against ONNX's schema before it is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import GraphOp, Property, shape_of, tensor_dtype
from inarch.dialects.graph.shape import BroadcastToOp, ReshapeOp
from inarch.frontends.onnx.builder import Builder
from inarch.frontends.onnx.report import AT_RUN_TIME, NotSupportedError
from inarch.frontends.onnx.tensors import Folders, tensor_array

if TYPE_CHECKING:
    from onnx import AttributeProto, TensorProto

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Node:
    """One node whose inputs are known. Input `i` is `node.x(i)`, or None where it is left out."""

    op: str
    """Its operator: `Conv`."""
    name: str
    """Its name, or that of its first output; unique enough for messages."""
    opset: int
    """The version of the operator set that it is of."""
    inputs: tuple[SSAValue | None, ...]
    outputs: int
    """How many outputs are used or named."""
    attributes: Mapping[str, AttributeProto]
    builder: Builder
    folders: Folders

    # -- operands

    def has(self, index: int) -> bool:
        """Whether input `index` is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def x(self, index: int = 0) -> SSAValue:
        """Input `index`. Raises InarchError when it is left out."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise InarchError(f"expected input {index}, found none")
        return value

    def given(self) -> list[SSAValue]:
        """All inputs that are given."""
        return [value for value in self.inputs if value is not None]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of input `index`."""
        return shape_of(self.x(index))

    def dtype(self, index: int = 0) -> DType:
        """The dtype of input `index`."""
        return tensor_dtype(self.x(index))

    def array(self, index: int, what: str) -> Array:
        """Input `index` as a constant. Raises NotSupportedError: `what` is computed at run time."""
        value = self.x(index)
        if value not in self.builder.arrays:
            raise NotSupportedError(f"{what} {AT_RUN_TIME}")
        return self.builder.arrays[value]

    def numbers(self, index: int, what: str) -> list[int]:
        """Input `index` as constant integers; it has at most one dimension."""
        array = self.array(index, what)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            raise InarchError(
                f"expected {what} to be a list of integers, "
                f"found {array.dtype.name} of shape {array.shape}"
            )
        return [int(value) for value in array.reshape(-1)]

    def scalar(self, index: int, what: str) -> Any:
        """Input `index` as one constant Python number."""
        array = self.array(index, what)
        if array.size != 1:
            raise InarchError(f"expected {what} to be one number, found shape {array.shape}")
        return array.reshape(-1)[0].item()

    # -- attributes

    def has_attribute(self, name: str) -> bool:
        """Whether attribute `name` is given."""
        return name in self.attributes

    def int(self, name: str, default: int) -> int:
        """An integer attribute."""
        return self.attributes[name].i if name in self.attributes else default

    def float(self, name: str, default: float) -> float:
        """A float attribute."""
        return self.attributes[name].f if name in self.attributes else default

    def ints(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """A list of integers."""
        return list(self.attributes[name].ints) if name in self.attributes else list(default)

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        if name not in self.attributes:
            return default
        return self.attributes[name].s.decode("utf-8", "replace")

    def flag(self, name: str, *, default: bool) -> bool:
        """An integer attribute that is 0 or 1."""
        return self.int(name, int(default)) != 0

    def attribute(self, name: str) -> AttributeProto | None:
        """An attribute as it is in the model."""
        return self.attributes.get(name)

    def tensor(self, proto: TensorProto) -> Array:
        """The array of a tensor that is in an attribute."""
        return tensor_array(proto, None, self.folders, "attribute")

    # -- building

    def emit(self, kind: type[GraphOp], *operands: SSAValue, **properties: Property) -> SSAValue:
        """The result of a new op; a constant when all its operands are and it is small.

        Raises InarchError when a constraint of the op fails.
        """
        (result,) = self.emit_all(kind, *operands, **properties)
        return result

    def emit_all(
        self, kind: type[GraphOp], *operands: SSAValue, **properties: Property
    ) -> list[SSAValue]:
        """As `emit`, of an op with several results."""
        try:
            return self.builder.emit(kind, operands, properties, self.name)
        except VerifyException as error:
            raise InarchError(str(error)) from error

    def constant(self, array: Array) -> SSAValue:
        """A constant of this node."""
        return self.builder.computed_constant(array, self.name)

    def room(self, *sizes: int, itemsize: int = 8) -> None:
        """Raises InarchError when arrays of this shape are too large: to ask before making them."""
        self.builder.room(math.prod(sizes), itemsize)

    def like(self, number: float, value: SSAValue) -> SSAValue:
        """The scalar constant `number` of the dtype of `value`.

        Raises InarchError where an integer dtype has no such number: the operator is of floats.
        """
        dtype = tensor_dtype(value)
        if not dtype.is_float and not _holds(dtype, number):
            raise InarchError(f"expected a float dtype, which has {number}, found {dtype.name}")
        return self.constant(np.array(number, dtype.numpy))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` under another shape; itself when it has that shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(ReshapeOp, value, shape=list(shape))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` repeated to another shape; itself when it has that shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(BroadcastToOp, value, shape=list(shape))

    def axis(self, value: int, rank: int) -> int:
        """An axis that may count from the end, as one that counts from the front."""
        if not -rank <= value < rank:
            raise InarchError(f"expected an axis of rank {rank}, found {value}")
        return value % rank if rank else value

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """Axes that may count from the end, ascending. Raises InarchError when one comes twice."""
        found = sorted(self.axis(value, rank) for value in values)
        if len(set(found)) != len(found):
            raise InarchError(f"expected different axes, found {list(values)} of rank {rank}")
        return found


def _holds(dtype: DType, number: float) -> bool:
    """Whether an integer dtype, or bool, has the number."""
    if not float(number).is_integer():
        return False
    bits = dtype.bits - (dtype.bits > 1 and not dtype.is_unsigned)
    least = 0 if bits == dtype.bits else -(1 << bits)
    return least <= int(number) < 1 << bits


Values: TypeAlias = "SSAValue | Sequence[SSAValue]"
Converter = Callable[[Node], Values]
"""From a node to its outputs, in order; outputs that are left out may be missing at the end."""


def as_values(found: Values) -> list[SSAValue]:
    """What a converter returned, as a list."""
    return [found] if isinstance(found, SSAValue) else list(found)
