"""Every name in a model is text. Protobuf gives bytes, in place of a str, where it is not UTF-8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, cast

from inarch.core.errors import InarchError

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto


def check_names(model: ModelProto, where: str) -> None:
    """Raises InarchError for the first name that is not UTF-8."""
    parts = chain(
        _of_graph(model.graph),
        chain.from_iterable(_of_function(function) for function in model.functions),
        (entry.domain for entry in model.opset_import),
    )
    for name in cast("Iterable[object]", parts):
        if not isinstance(name, str):
            raise InarchError(f"expected names in UTF-8, found {name!r}", where=where)


def _of_graph(graph: GraphProto) -> Iterator[str]:
    yield graph.name
    yield from _of_nodes(graph.node)
    for tensor in graph.initializer:
        yield from _of_tensor(tensor)
    for sparse in graph.sparse_initializer:
        yield sparse.values.name
    for info in chain(graph.input, graph.output):
        yield from _of_info(info)


def _of_function(function: FunctionProto) -> Iterator[str]:
    yield from (function.name, function.domain, *function.input, *function.output)
    yield from _of_nodes(function.node)
    yield from (entry.domain for entry in function.opset_import)
    yield from (attribute.name for attribute in function.attribute_proto)


def _of_nodes(nodes: Iterable[NodeProto]) -> Iterator[str]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            yield from _of_tensor(attribute.t)
            for graph in (attribute.g, *attribute.graphs):
                yield from _of_graph(graph)


def _of_tensor(tensor: TensorProto) -> Iterator[str]:
    yield tensor.name
    for entry in tensor.external_data:
        yield from (entry.key, entry.value)


def _of_info(info: ValueInfoProto) -> Iterator[str]:
    yield info.name
    yield from (dim.dim_param for dim in info.type.tensor_type.shape.dim)
