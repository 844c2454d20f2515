"""What a converter sees: one node, its operands, its attributes, and a way to build ops.

A converter is a function from a `Node` to the node's outputs. Arity, attribute names and attribute
types have been checked against ONNX's schema before it is called.
"""

# `Node.int` and `Node.float` are called like ONNX's types of attributes:
# pyrefly: ignore-errors[not-a-type]
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.ir import SSAValue

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError
from inarch.core.lazy import Array
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.building import Building
from inarch.frontends.onnx.tensors import Folders, tensor_array
from inarch.frontends.report import AT_RUN_TIME, NotSupportedError

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto


def label(proto: NodeProto) -> str:
    """What a node is called: its name, or that of its first output, or its operator."""
    return proto.name or next((out for out in proto.output if out), proto.op_type)


@dataclass(frozen=True)
class Node(Building):
    """One node whose inputs are known. Input `i` is `node.x(i)`, or None where it is left out."""

    op: str
    """Its operator: `Conv`."""
    opset: int
    """The version of the operator set that it is of."""
    inputs: tuple[SSAValue | None, ...]
    outputs: int
    """How many outputs are used or named."""
    attributes: Mapping[str, AttributeProto]
    folders: Folders
    unused: frozenset[int] = frozenset()
    """The outputs that nothing takes."""
    sizes: dict[SSAValue, Mapping[int, SSAValue]] = field(
        default_factory=dict[SSAValue, Mapping[int, SSAValue]]
    )
    """Of values of computed size, the axes, and how much of each counts (`frontends/onnx/computed.py`)."""

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
            raise NotSupportedError(f"{what} {AT_RUN_TIME}", value)
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

    def floats(self, name: str, default: Sequence[float] = ()) -> list[float]:
        """A list of floats, which are of 32 bits."""
        return list(self.attributes[name].floats) if name in self.attributes else list(default)

    def texts(self, name: str) -> list[str]:
        """A list of strings."""
        if name not in self.attributes:
            return []
        return [text.decode("utf-8", "replace") for text in self.attributes[name].strings]

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        if name not in self.attributes:
            return default
        return self.attributes[name].s.decode("utf-8", "replace")

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        """A string attribute that is one of several. Raises InarchError for any other."""
        found = self.text(name, default)
        if found not in choices:
            *others, last = choices
            raise InarchError(f"expected {name} {', '.join(others)} or {last}, found '{found}'")
        return found

    def flag(self, name: str, *, default: bool) -> bool:
        """An integer attribute that is 0 or 1."""
        return self.int(name, int(default)) != 0

    def attribute(self, name: str) -> AttributeProto | None:
        """An attribute as it is in the model."""
        return self.attributes.get(name)

    def tensor(self, attribute: AttributeProto) -> Array:
        """The array of the tensor that is in an attribute; who converts the node says which node it is."""
        try:
            return tensor_array(attribute.t, None, self.folders, f"attribute '{attribute.name}'")
        except InarchError as error:
            raise InarchError(f"{error.where}: {error.message}") from error


Values: TypeAlias = "SSAValue | Sequence[SSAValue]"
Converter = Callable[[Node], Values]
"""From a node to its outputs, in order; outputs that are left out may be missing at the end."""


def as_values(found: Values) -> list[SSAValue]:
    """What a converter returned, as a list."""
    return [found] if isinstance(found, SSAValue) else list(found)
