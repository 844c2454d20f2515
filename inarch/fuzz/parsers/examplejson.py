"""ExampleJSON: what is read runs on ones, and its canonical spelling means the same."""

from __future__ import annotations

from math import prod

from inarch.core.lazy import np
from inarch.fuzz import Parser
from inarch.runtime.loaders.examplejson.engine import bind
from inarch.runtime.loaders.examplejson.graph import Graph, unparse
from inarch.runtime.loaders.examplejson.parser import parse
from inarch.runtime.tensor import Array

SMALL = 1000
"""Graphs run where none of their tensors has more elements."""

SEEDS = [
    b"""subgraph_0
  input 0 10 10
  input 1 10 10
  input 2 10 10
  input 3 10 10
  add 4 inputs: 0 1 shape: 10 10
  sub 5 inputs: 4 2 shape: 10 10
  mul 6 inputs: 5 3 shape: 10 10
""",
    b"""subgraph_0 name: first
  input 0 2 3 dtype: f64
  constant 1 shape: 3 dtype: f64 data: 0.5 -0.0 1e+300
  div 2 inputs: 0 1 shape: 2 3 dtype: f64
  transpose 3 inputs: 2 shape: 3 2 dtype: f64 attrs: perm=1,0
  matmul 4 inputs: 2 3 shape: 2 2 dtype: f64
  softmax 5 inputs: 4 shape: 2 2 dtype: f64 attrs: axis=-1
  outputs: 5 2
subgraph_1
  input 0 4 dtype: i32
  constant 1 shape: 2 2 dtype: i32 base64: AQAAAAIAAAADAAAABAAAAA==
  reshape 2 inputs: 0 shape: 2 2 dtype: i32
  concat 3 inputs: 2 1 2 shape: 6 2 dtype: i32 attrs: axis=0
  slice 4 inputs: 3 shape: 2 1 dtype: i32 attrs: starts=5,1 steps=-2,1
  reduce_max 5 inputs: 4 shape: 1 1 dtype: i32 attrs: axes=0 keepdims=true
  clip 6 inputs: 5 shape: 1 1 dtype: i32 attrs: low=0.0 high=6.0
""",
    b"""subgraph_7
input 0
broadcast_to 1 inputs: 0 shape: 2 0
reduce_sum 2 inputs: 1 shape: 0 attrs: axes=0
constant 3 shape: 2 dtype: i1 data: 0 1
outputs: 2 3 0
""",
]


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
    lambda: SEEDS,
    check,
    ".json",
    words=[b"f32", b"ui8", b"i64", b"base64:", b"attrs:", b"keepdims=true"],
)
