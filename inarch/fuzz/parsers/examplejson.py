"""ExampleJSON: what is read runs on ones, and its canonical spelling means the same."""

from __future__ import annotations

from math import prod

from inarch.core.lazy import np
from inarch.fuzz import Parser
from inarch.fuzz.files import corpus
from inarch.runtime.loaders.examplejson.engine import bind
from inarch.runtime.loaders.examplejson.graph import Graph, unparse
from inarch.runtime.loaders.examplejson.parser import parse
from inarch.runtime.tensor import Array

_KEPT = corpus("examplejson")

SMALL = 1000
"""Graphs run where none of their tensors has more elements."""


def check(data: bytes) -> None:
    """Reads `data`. A program runs, if it is small, and gives what its types say."""
    graphs = parse(data.decode("utf-8", "surrogateescape"), "fuzz")
    again = parse(unparse(graphs), "fuzz")
    assert again == graphs, "the canonical spelling means something else"
    for graph in graphs:
        _run(graph)


def _run(graph: Graph) -> None:
    if any(prod(max(size, 1) for size in node.type.shape) > SMALL for node in graph.nodes):
        return
    function = bind(graph)[0]
    inputs = [np.ones(port.shape, port.dtype.numpy) for port in function.signature.inputs]
    results: Array | tuple[Array, ...] = function(*inputs)
    found = results if isinstance(results, tuple) else (results,)
    for array, port in zip(found, function.signature.outputs, strict=True):
        assert (array.shape, array.dtype.name) == (port.shape, port.dtype.numpy), "another type"


PARSER = Parser(
    lambda: _KEPT.seeds,
    check,
    ".json",
    words=_KEPT.words,
)
