"""A model with its external data inside, for packages that would read it by doors of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.outside.regular import read_regular
from inarch.frontends.onnx._load import load_model
from inarch.frontends.onnx.tensors import EXTERNAL, Folders, external_bytes

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto


def whole_model(path: Path) -> ModelProto:
    """The model in a file. Raises InarchError for what is none, and as the import does for its data."""
    from onnx import ModelProto

    loaded = load_model(path)
    folders = Folders(loaded.folder, loaded.target)
    found = ModelProto.FromString(read_regular(path))
    for tensor in _of_nodes(node for one in found.functions for node in one.node):
        _take(tensor, folders, loaded.where)
    for tensor in _of_graph(found.graph):
        _take(tensor, folders, loaded.where)
    return found


def _take(tensor: TensorProto, folders: Folders, where: str) -> None:
    if tensor.data_location != EXTERNAL:
        return
    data = external_bytes(tensor, None, folders, f"{where}: tensor '{tensor.name}'")
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")
    tensor.raw_data = bytes(data)


def _of_graph(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for attribute in chain.from_iterable(node.attribute for node in nodes):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from _of_graph(graph)
