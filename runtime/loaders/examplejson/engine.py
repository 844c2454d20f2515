"""The ExampleJSON engine: runs one graph on arrays.

A bound graph never changes, and all state of a call is local to it: functions of one module may run at
the same time, each its own graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inarch.artifact.manifest import Port, Signature
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.runtime.function import Function
from inarch.runtime.loaders.examplejson.graph import Graph, Node
from inarch.runtime.loaders.examplejson.ops import OPS, Attrs, Op


@dataclass(frozen=True)
class _Step:
    """A node to compute, and the values that nothing needs after it."""

    number: int
    op: Op
    node: Node
    attrs: Attrs
    dead: tuple[int, ...]


def bind(graph: Graph) -> list[Function]:
    """The function that runs `graph`, under each of its names.

    Its arguments are called `input<id>`, its outputs `output<position>`.
    """
    inputs = graph.inputs
    signature = Signature(
        tuple(_port(f"input{number}", graph.nodes[number]) for number in inputs),
        tuple(
            _port(f"output{place}", graph.nodes[number])
            for place, number in enumerate(graph.outputs)
        ),
    )
    constants = {
        number: _constant(node) for number, node in enumerate(graph.nodes) if node.op == "constant"
    }
    steps = _schedule(graph)

    def invoke(arrays: Sequence[Array]) -> None:
        values = {**constants, **dict(zip(inputs, arrays, strict=False))}
        for step in steps:
            values[step.number] = _compute(graph, step, values)
            for number in step.dead:
                del values[number]
        for number, out in zip(graph.outputs, arrays[len(inputs) :], strict=True):
            np.copyto(out, values[number], casting="no")

    return [Function(name, signature, invoke) for name in (graph.name, graph.symbol)]


def _port(name: str, node: Node) -> Port:
    return Port(name, node.type.dtype, node.type.shape)


def _constant(node: Node) -> Array:
    """The array of a constant, read-only, in this machine's byte order."""
    if not node.data:
        return np.empty(node.type.shape, node.type.dtype.numpy)  # frombuffer takes no empty buffer
    little = np.dtype(node.type.dtype.numpy).newbyteorder("<")
    array = np.frombuffer(node.data, little).astype(node.type.dtype.numpy, copy=False)
    return array.reshape(node.type.shape)


def _schedule(graph: Graph) -> list[_Step]:
    """The nodes to compute: those that an output needs, in order."""
    needed = set(graph.outputs)
    last_use: dict[int, int] = {}
    for number in reversed(range(len(graph.nodes))):
        if number in needed:
            for source in graph.nodes[number].inputs:
                needed.add(source)
                last_use.setdefault(source, number)
    kept = set(graph.outputs)
    dead: dict[int, list[int]] = {}
    for source, number in last_use.items():
        if source not in kept:
            dead.setdefault(number, []).append(source)
    steps: list[_Step] = []
    for number in sorted(needed):
        node = graph.nodes[number]
        if node.op in OPS:
            op = OPS[node.op]
            attrs = op.filled(node.attrs)
            steps.append(_Step(number, op, node, attrs, tuple(dead.get(number, ()))))
    return steps


def _compute(graph: Graph, step: _Step, values: dict[int, Array]) -> Array:
    node = step.node
    arrays = [values[number] for number in node.inputs]
    try:
        # Infinities and NaN are results like any other.
        with np.errstate(all="ignore"):
            return np.asarray(step.op.compute(arrays, node.type, step.attrs))
    except MemoryError as error:
        raise InarchError(
            f"{graph.name}: node {step.number} '{node.op}' makes {node.type}, "
            "for which there is not enough memory"
        ) from error
