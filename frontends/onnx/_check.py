"""Checks a node against ONNX's own schema, so that converters meet only what the schema allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError
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


def check_types(schema: OpSchema, dtypes: Sequence[DType | None]) -> None:
    """Raises InarchError where inputs of one type have several dtypes, one of which is only stored.

    Ops see to all others: what computes with one that is stored is given all in its `arithmetic`.
    """
    if not any(dtype is not None and dtype.is_stored for dtype in dtypes):
        return
    found: dict[str, DType] = {}
    for index, dtype in enumerate(dtypes):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        if dtype is None or "(" in formal.type_str or not formal.is_homogeneous:
            continue
        first = found.setdefault(formal.type_str, dtype)
        if first != dtype:
            raise InarchError(f"expected one dtype, found {first.name} and {dtype.name}")


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
