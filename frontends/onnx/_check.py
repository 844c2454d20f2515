"""Checks a node against ONNX's own schema, so that converters meet only what the schema allows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from inarch.frontends.onnx.contract import Contract

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto
    from onnx.defs import OpSchema

DEFAULT_DOMAINS = ("", "ai.onnx")
"""Both name ONNX's own operators."""


def schema_of(node: NodeProto, opset: int) -> OpSchema | None:
    """The schema of `node` in that version of its domain; None when ONNX does not define it."""
    return _schema(node.op_type, opset, "" if node.domain in DEFAULT_DOMAINS else node.domain)


@lru_cache(maxsize=1024)
def _schema(operator: str, opset: int, domain: str) -> OpSchema | None:
    from onnx.defs import SchemaError, get_schema

    try:
        return get_schema(operator, opset, domain)
    except SchemaError:
        return None


def check_node(node: NodeProto, schema: OpSchema, attributes: Mapping[str, AttributeProto]) -> None:
    """Raises InarchError unless the arity and the attributes of `node` fit `schema`."""
    contract = _contract(schema.name, schema.since_version, schema.domain)
    contract.check(len(node.input), len(node.output), attributes)


@lru_cache(maxsize=1024)
def _contract(operator: str, version: int, domain: str) -> Contract:
    from onnx.defs import get_schema

    schema = get_schema(operator, version, domain)
    types: Any = {name: entry.type for name, entry in schema.attributes.items()}  # enums, untyped
    return Contract(
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
        {name: kind.name for name, kind in types.items()},
        frozenset(name for name, entry in schema.attributes.items() if entry.required),
    )
