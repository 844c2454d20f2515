"""Checks a node against ONNX's own schema, so that converters meet only what the schema allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from inarch.core.errors import InarchError

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto
    from onnx.defs import OpSchema

DEFAULT_DOMAINS = ("", "ai.onnx")
"""Both name ONNX's own operators."""


def schema_of(node: NodeProto, opset: int) -> OpSchema | None:
    """The schema of `node` in that version of its domain; None when ONNX does not define it."""
    from onnx.defs import SchemaError, get_schema

    domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
    try:
        return get_schema(node.op_type, opset, domain)
    except SchemaError:
        return None


def check_node(node: NodeProto, schema: OpSchema, attributes: Mapping[str, AttributeProto]) -> None:
    """Raises InarchError unless the arity and the attributes of `node` fit `schema`."""
    _check_arity("inputs", len(node.input), schema.min_input, schema.max_input)
    _check_arity("outputs", len(node.output), schema.min_output, schema.max_output)
    for name, attribute in attributes.items():
        if name not in schema.attributes:
            known = ", ".join(sorted(schema.attributes)) or "none"
            raise InarchError(f"expected attributes among {known}; found '{name}'")
        wanted: Any = schema.attributes[name].type  # an enum, which the stubs of onnx do not say
        # Models of the first IR version leave the type out: 0.
        if attribute.type not in (0, int(wanted.value)):
            raise InarchError(
                f"expected attribute '{name}' of type {wanted.name}, found {_type_name(attribute)}"
            )
    for name, expected in schema.attributes.items():
        if expected.required and name not in attributes:
            raise InarchError(f"expected attribute '{name}', found none")


def _check_arity(what: str, found: int, low: int, high: int) -> None:
    if low <= found <= high:
        return
    wanted = (
        f"{low}" if low == high else f"{low} to {high}" if high < 2**31 - 1 else f"at least {low}"
    )
    raise InarchError(f"expected {wanted} {what}, found {found}")


def _type_name(attribute: AttributeProto) -> str:
    from onnx import AttributeProto

    known = dict(
        zip(AttributeProto.AttributeType.values(), AttributeProto.AttributeType.keys(), strict=True)
    )
    return known.get(attribute.type, f"type {attribute.type}")
