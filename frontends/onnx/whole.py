"""A model with its external data inside, for packages that would read it by doors of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.outside.regular import read_regular
from inarch.frontends.onnx._load import load_model
from inarch.frontends.onnx.node import label
from inarch.frontends.onnx.tensors import EXTERNAL, Folders, external_bytes

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto


def whole_model(path: Path) -> ModelProto:
    """The model in a file. Raises InarchError for what is none, and as the import does for its data."""
    from onnx import ModelProto

    loaded = load_model(path)
    found = ModelProto.FromString(read_regular(path))
    take_external(found, Folders(loaded.folder, loaded.target), loaded.where)
    return found


def take_external(model: ModelProto, folders: Folders, where: str) -> None:
    """Takes all external data into the model. Raises InarchError as the import does."""
    every = _of_nodes(node for one in model.functions for node in one.node)
    for place, tensor in chain(every, _of_graph(model.graph)):
        _take(tensor, folders, f"{where}: {place}")


def _take(tensor: TensorProto, folders: Folders, where: str) -> None:
    if tensor.data_location != EXTERNAL:
        return
    from onnx.helper import tensor_dtype_to_np_dtype

    given = any(entry.key == "length" for entry in tensor.external_data)
    size = tensor_dtype_to_np_dtype(tensor.data_type).itemsize * math.prod(tensor.dims)
    data = external_bytes(tensor, None if given else size, folders, where)
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")
    tensor.raw_data = bytes(data)


def _of_graph(graph: GraphProto) -> Iterator[tuple[str, TensorProto]]:
    """Each with its place."""
    for tensor in graph.initializer:
        yield f"tensor '{tensor.name}'", tensor
    for sparse in graph.sparse_initializer:
        for tensor in (sparse.values, sparse.indices):
            yield f"tensor '{sparse.values.name}'", tensor
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Iterable[NodeProto]) -> Iterator[tuple[str, TensorProto]]:
    for node in nodes:
        for attribute in node.attribute:
            place = f"node '{label(node)}' ({node.op_type}): attribute '{attribute.name}'"
            for tensor in (*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors):
                yield place, tensor
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _of_graph(graph)
