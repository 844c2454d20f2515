"""Models that onnxruntime refuses when a session is made: the same exception, and nearly the same text."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inarch.compat.onnxruntime.errors import Fail, InvalidArgument, InvalidGraph, error

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

_OWN = ("", "ai.onnx")
"""How a model may call the domain of ONNX itself."""


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph, and those in its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.initializer:
                    yield from graphs_of(inner)


def tensors_of(graph: GraphProto) -> Iterator[TensorProto]:
    """All tensors that the graph, and those in it, hold."""
    for each in graphs_of(graph):
        yield from each.initializer
        for node in each.node:
            for attribute in node.attribute:
                yield from (attribute.t, *attribute.tensors)


def check_model(model: ModelProto) -> None:
    """Raises the exceptions of onnxruntime for versions, operators, attributes and names that cannot be."""
    from onnx import IR_VERSION
    from onnx.defs import onnx_opset_version

    if model.ir_version > IR_VERSION:
        raise error(
            Fail,
            f"Unsupported model IR version: {model.ir_version}, max supported IR version: {IR_VERSION}",
        )
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    for domain in _OWN:
        if opsets.get(domain, 0) > onnx_opset_version():
            raise error(
                Fail,
                "ONNX Runtime only *guarantees* support for models stamped with official released onnx "
                f"opset versions. Opset {opsets[domain]} is under development; the newest is "
                f"{onnx_opset_version()}",
            )
    functions = {(each.domain, each.name) for each in model.functions}
    for graph in graphs_of(model.graph):
        for node in graph.node:
            if (node.domain, node.op_type) not in functions:
                _check_node(node, opsets)
    _check_names(model.graph)


def _check_node(node: NodeProto, opsets: dict[str, int]) -> None:
    from onnx.defs import SchemaError, get_schema, has

    def invalid(found: str) -> Exception:
        ins, outs = (
            ", ".join(f'"{name}"' for name in names) for names in (node.input, node.output)
        )
        what = f'("{node.name}", {node.op_type}, "{node.domain}", -1) : ({ins}) -> ({outs})'
        return error(InvalidGraph, f"This is an invalid model. In Node, {what} , Error {found}")

    domain = "" if node.domain in _OWN else node.domain
    known = opsets.get(domain, opsets.get("ai.onnx") if not domain else None)
    if known is None:
        if domain and not domain.startswith(_EXTENSIONS):
            raise invalid(f"No opset import for domain '{domain}'")
        return
    if domain:
        return
    try:
        schema = get_schema(node.op_type, known, domain)
    except SchemaError as found:
        if has(node.op_type, domain):  # of an earlier or a later version; that library takes some
            return
        raise invalid(
            f"No Op registered for {node.op_type} with domain_version of {known}"
        ) from found
    for attribute in node.attribute:
        if attribute.name not in schema.attributes:
            raise invalid(f"Unrecognized attribute: {attribute.name} for operator {node.op_type}")


_EXTENSIONS = ("ai.onnx", "com.microsoft")
"""Domains that onnxruntime has whether a model imports them or not."""


def _check_names(graph: GraphProto) -> None:
    """What each node reads is there, and each name is of one thing."""
    before = {info.name for info in graph.input} | {proto.name for proto in graph.initializer}
    before |= {sparse.values.name for sparse in graph.sparse_initializer}
    made: set[str] = set()
    for node in graph.node:
        for name in filter(None, node.output):
            if name in made:
                raise error(
                    Fail, f"This is an invalid model. Error: Duplicate definition of name ({name})."
                )
            made.add(name)
    known = before | made | {""}
    for node in graph.node:
        for name in node.input:
            if name not in known:
                raise error(
                    InvalidArgument,
                    f"Invalid model. Node input '{name}' is not a graph input, initializer, or output of a "
                    "previous node.",
                )
    for info in graph.output:
        if info.name not in known:
            raise error(
                Fail,
                f"This is an invalid model. Graph output ({info.name}) does not exist in the graph.",
            )
    _check_order(graph)


def _check_order(graph: GraphProto) -> None:
    """That no value needs itself; nodes may stand in any order."""
    from graphlib import CycleError, TopologicalSorter

    maker = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    order = TopologicalSorter(
        {
            at: {maker[name] for name in node.input if name in maker}
            for at, node in enumerate(graph.node)
        }
    )
    try:
        order.prepare()
    except CycleError as found:
        raise error(Fail, "This is an invalid model. Error: the graph is not acyclic.") from found
