"""Every name in a model is text. Protobuf gives bytes, in place of a str, where it is not UTF-8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, cast

from inarch.core.errors import InarchError

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto


def check_names(model: ModelProto, where: str) -> None:
    """Raises InarchError for a name that is not UTF-8."""
    for name in cast("Iterable[object]", _of_model(model)):
        if not isinstance(name, str):
            raise InarchError(f"expected names in UTF-8, found {name!r}", where=where)


def _of_model(model: ModelProto) -> Iterator[str]:
    """All names of a model; names of a nested graph come after the names of the graph around it."""
    pending = [model.graph]
    for function in model.functions:
        yield from _of_function(function, pending)
    yield from (entry.domain for entry in model.opset_import)
    while pending:
        graph = pending.pop()
        yield graph.name
        yield from _of_nodes(graph.node, pending)
        for tensor in graph.initializer:
            yield from _of_tensor(tensor)
        for sparse in graph.sparse_initializer:
            yield sparse.values.name
        for info in chain(graph.input, graph.output):
            yield from _of_info(info)


def _of_function(function: FunctionProto, inner: list[GraphProto]) -> Iterator[str]:
    """The names of a function, without its nested graphs, which it adds to `inner`."""
    yield from (function.name, function.domain, *function.input, *function.output)
    yield from _of_nodes(function.node, inner)
    yield from (entry.domain for entry in function.opset_import)
    yield from (attribute.name for attribute in function.attribute_proto)


def _of_nodes(nodes: Iterable[NodeProto], inner: list[GraphProto]) -> Iterator[str]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            yield from _of_tensor(attribute.t)
            inner.extend(attribute.graphs)
            if attribute.HasField("g"):
                inner.append(attribute.g)


def _of_tensor(tensor: TensorProto) -> Iterator[str]:
    yield tensor.name
    for entry in tensor.external_data:
        yield from (entry.key, entry.value)


def _of_info(info: ValueInfoProto) -> Iterator[str]:
    yield info.name
    yield from (dim.dim_param for dim in info.type.tensor_type.shape.dim)
