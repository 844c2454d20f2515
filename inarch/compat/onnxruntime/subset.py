"""A model with some of its outputs alone, where that leaves out work; and with scalars of any shape."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from inarch.compat.onnxruntime.checks import graphs_of
from inarch.compat.onnxruntime.described import digest_of_model
from inarch.compat.onnxruntime.program import Model
from inarch.core.cache import default_cache, key_of

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

LEAST_SAVED = 0.1
"""The part of a model's work that has to be left out, so that the rest is compiled by itself."""

_HEAVY = 20
"""How much more a product, a convolution or a recurrence is than another operator."""
_FREE = frozenset({
    "Constant", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Shape", "Size", "Cast", "Dropout",
})  # fmt: skip
_PRODUCTS = (
    "Conv",
    "MatMul",
    "Gemm",
    "LSTM",
    "GRU",
    "RNN",
    "Einsum",
    "Attention",
    "Loop",
    "Scan",
    "If",
)


def with_outputs(model: Model, names: Collection[str]) -> Model | None:
    """The model that gives only the outputs `names`, in the order of the model.

    None where that saves little, and where weights are in files of their own.
    """
    source = model.source
    is_less = any(arg.name not in names for arg in model.described.outputs)
    if not is_less or not isinstance(source, bytes):
        return None
    cache, key = default_cache(), key_of("compat.onnxruntime outputs", model.digest, *sorted(names))
    if cache.get(key) == b"little":
        return None
    from onnx import ModelProto

    proto = ModelProto.FromString(source)
    graph = proto.graph
    needed = _needed(graph, names)
    works = [_work(node) for node in graph.node]
    saved = sum(work for at, work in enumerate(works) if at not in needed)
    if saved < LEAST_SAVED * sum(works):
        cache.put(key, b"little")
        return None
    _keep(graph, names, needed)
    data = proto.SerializeToString(deterministic=True)
    described = model.described
    outputs = [arg for arg in described.outputs if arg.name in names]
    return replace(
        model,
        source=data,
        digest=digest_of_model(data),
        described=replace(described, outputs=outputs),
    )


def with_open_scalars(model: Model, names: Collection[str]) -> Model | None:
    """The model whose inputs `names`, which it says are scalars, have any shape.

    None where weights are in files of their own.
    """
    if not isinstance(model.source, bytes):
        return None
    from onnx import ModelProto

    proto = ModelProto.FromString(model.source)
    for info in proto.graph.input:
        if info.name in names:
            info.type.tensor_type.ClearField("shape")
    for info in (*proto.graph.output, *proto.graph.value_info):  # which follow from what comes
        info.type.tensor_type.ClearField("shape")
    data = proto.SerializeToString(deterministic=True)
    inputs = [
        replace(arg, has_rank=arg.has_rank and arg.name not in names)
        for arg in model.described.inputs
    ]
    return replace(
        model,
        source=data,
        digest=digest_of_model(data),
        described=replace(model.described, inputs=inputs),
    )


def _reads(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, also from within its graphs."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for each in graphs_of(graph):
                yield from (info.name for info in each.output)
                for inner in each.node:
                    yield from inner.input


def _needed(graph: GraphProto, names: Collection[str]) -> set[int]:
    """The nodes, by position, that `names` need."""
    maker = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    found: set[int] = set()
    wanted = [maker[name] for name in names if name in maker]
    while wanted:
        at = wanted.pop()
        if at in found:
            continue
        found.add(at)
        wanted += [maker[name] for name in _reads(graph.node[at]) if name in maker]
    return found


def _work(node: NodeProto) -> int:
    if node.op_type in _FREE:
        return 0
    return _HEAVY if any(word in node.op_type for word in _PRODUCTS) else 1


def _keep(graph: GraphProto, names: Collection[str], needed: Collection[int]) -> None:
    """Leaves out other nodes and outputs, and the weights that nothing reads any more."""
    nodes = [node for at, node in enumerate(graph.node) if at in needed]
    outputs = [info for info in graph.output if info.name in names]
    read = {name for node in nodes for name in _reads(node)}
    read |= {info.name for info in (*graph.input, *outputs)}
    weights = [proto for proto in graph.initializer if proto.name in read]
    for field, kept in (("node", nodes), ("output", outputs), ("initializer", weights)):
        graph.ClearField(field)
        getattr(graph, field).extend(kept)
