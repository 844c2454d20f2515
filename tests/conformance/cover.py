"""A few of many ONNX models that together hold each operator with each value of its attributes.

A feature is an operator, how many inputs it has and which are left out, an attribute with its value
(defaults too) where it is a word or a small integer, and that it is given otherwise. A family is
the operators that one function of the frontend converts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import onnx
from onnx import AttributeProto, ModelProto, NodeProto, defs

from inarch.frontends.onnx.control import CONTROL
from inarch.frontends.onnx.ops import converters

Feature = tuple[str, ...]
K = TypeVar("K")

SMALL = 8
"""Integers from here on are sizes, of which each model has its own."""


def features(model: ModelProto) -> set[Feature]:
    """What a model holds, in its subgraphs too."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    found: set[Feature] = set()
    for node in _nodes(model.graph.node):
        title = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        found.add((title, "inputs", "".join("x" if name else "-" for name in node.input)))
        attributes = {one.name: one for one in node.attribute}
        for name, attribute in {**_defaults(node, versions), **attributes}.items():
            found.add((title, name, _value(attribute)))
    return found


@lru_cache(maxsize=1)
def family_of_operator() -> Mapping[str, str]:
    """Operator -> its family, `window.max_pool`: those with bodies are one each."""
    found = {op: op for op in CONTROL}
    for op, converter in converters().items():
        room = converter.__module__.rpartition(".")[2]
        function = getattr(converter, "__qualname__", op).partition(".")[0].strip("_")
        found[op] = f"{room}.{function}"
    return found


def families(model: ModelProto) -> set[str]:
    """The families of a model's operators, in its subgraphs too."""
    known = family_of_operator()
    titles = {
        f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in _nodes(model.graph.node)
    }
    return {known[title] for title in titles if title in known}


def cover(
    models: Mapping[K, ModelProto],
    of: Callable[[ModelProto], set[Any]] = features,
    rank: Callable[[K], Any] = lambda _name: 0,
) -> list[K]:
    """Names of few models that hold everything `of` all: always the one that adds most.

    Of equal ones it has the highest `rank`, then the smallest, then the last by name.
    """
    left = {name: of(model) for name, model in models.items()}
    size = {name: model.ByteSize() for name, model in models.items()}
    ranks = {name: rank(name) for name in models}
    wanted = set[Any]().union(*left.values())
    found: list[K] = []
    while wanted:
        best = max(
            left, key=lambda name: (len(left[name] & wanted), ranks[name], -size[name], str(name))
        )
        wanted -= left.pop(best)
        found.append(best)
    return found


def _nodes(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _nodes(graph.node)


def _defaults(node: NodeProto, versions: Mapping[str, int]) -> dict[str, AttributeProto]:
    version = versions.get(node.domain, versions.get("ai.onnx" if not node.domain else "", 1))
    try:
        schema = defs.get_schema(node.op_type, version, node.domain)
    except defs.SchemaError:  # a function of the model's own
        return {}
    entries = {name: entry.default_value for name, entry in schema.attributes.items()}
    return {name: value for name, value in entries.items() if value.name}


def _value(attribute: AttributeProto) -> str:
    match attribute.type:
        case onnx.AttributeProto.STRING:
            return attribute.s.decode("utf-8", "replace")
        case onnx.AttributeProto.INT if abs(attribute.i) < SMALL:
            return str(attribute.i)
        case _:
            return "given"
