"""How many inputs and outputs an operator has, and which attributes: what a schema says, or we do.

Operators of domains that the package onnx has no schemas of, such as com.microsoft, are read by converters
that are `under` a contract of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING

from inarch.core.errors import InarchError
from inarch.frontends.onnx.node import Converter, Node, Values

if TYPE_CHECKING:
    from onnx import AttributeProto


@dataclass(frozen=True)
class Contract:
    """What a node may have."""

    inputs: tuple[int, int]
    """The fewest and the most."""
    outputs: tuple[int, int] = (1, 1)
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Their types, by name: `INT`, `FLOATS` ..., as in AttributeProto.AttributeType."""
    required: frozenset[str] = frozenset()
    """The attributes that have no default."""

    def check(self, inputs: int, outputs: int, given: Mapping[str, AttributeProto]) -> None:
        """Raises InarchError unless the arity and the attributes of a node fit."""
        _check_arity("inputs", inputs, *self.inputs)
        _check_arity("outputs", outputs, *self.outputs)
        for name, attribute in given.items():
            if name not in self.attributes:
                known = ", ".join(sorted(self.attributes)) or "none"
                raise InarchError(f"expected attributes among {known}; found '{name}'")
            wanted = self.attributes[name]
            # Models of the first IR version leave the type out: 0.
            if attribute.type != 0 and _type_name(attribute) != wanted:
                raise InarchError(
                    f"expected attribute '{name}' of type {wanted}, found {_type_name(attribute)}"
                )
        for name in self.attributes:
            if name in self.required and name not in given:
                raise InarchError(f"expected attribute '{name}', found none")


def typed(**names: str) -> dict[str, str]:
    """Attributes with their types: `typed(FLOATS="scales", INT="axis group")`."""
    return {name: kind for kind, each in names.items() for name in each.split()}


def under(contract: Contract, convert: Converter) -> Converter:
    """`convert`, of nodes that keep to the contract; others are an InarchError."""

    @wraps(convert)
    def checked(node: Node) -> Values:
        contract.check(len(node.inputs), node.outputs, node.attributes)
        return convert(node)

    return checked


def _check_arity(what: str, found: int, low: int, high: int) -> None:
    if low <= found <= high:
        return
    wanted = (
        f"{low}" if low == high else f"{low} to {high}" if high < 2**31 - 1 else f"at least {low}"
    )
    raise InarchError(f"expected {wanted} {what}, found {found}")


def _type_name(attribute: AttributeProto) -> str:
    from onnx import AttributeProto

    try:
        return AttributeProto.AttributeType.Name(attribute.type)
    except ValueError:
        return f"type {attribute.type}"
