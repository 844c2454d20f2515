"""Operators with bodies: If and Scan here; Loop, which is one of many things, in a file of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.regions.scan import scan_block
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.body import no_iterations
from inarch.frontends.onnx.regions.branch import branch
from inarch.frontends.onnx.regions.inline import Inline, Results, check_count
from inarch.frontends.onnx.regions.loop import loop
from inarch.frontends.onnx.regions.scan import scan
from inarch.frontends.report import NotSupportedError


def _if(node: Node, inline: Inline) -> Results:
    """The branch of a known condition; else both, of which one runs."""
    condition = node.x(0)
    if math.prod(node.shape(0)) != 1:
        raise InarchError(f"expected a condition of one element, found shape {node.shape(0)}")
    names = ("then_branch", "else_branch")
    if condition in node.builder.arrays:
        is_set = bool(node.builder.arrays[condition].reshape(-1)[0])
        return _branch(node, inline, names[0] if is_set else names[1])
    flag = node.reshape(condition, ())
    return branch(node, flag, lambda name: _branch(node, inline, name))


def _branch(node: Node, inline: Inline, name: str) -> Results:
    graph = node.attributes[name].g
    check_count(f"outputs of {name}", node.outputs, len(graph.output))
    return inline(graph, [], name)


def _scan(node: Node, inline: Inline) -> Results:
    """One iteration a slice of the scan inputs; what the iterations make is stacked."""
    if node.opset < 9:
        raise NotSupportedError("opset 8")
    body, count = node.attributes["body"].g, node.int("num_scan_inputs", 0)
    values = [node.x(index) for index in range(len(node.inputs))]
    if not 1 <= count <= len(values):
        raise InarchError(f"expected num_scan_inputs from 1 to {len(values)}, found {count}")
    states, sequences = values[: len(values) - count], values[len(values) - count :]
    check_count("inputs of the body", len(values), len(body.input))
    check_count("outputs of the body", node.outputs, len(body.output))
    columns = node.outputs - len(states)
    axes = _per(node, "scan_input_axes", count)
    axes = [node.axis(a, len(shape_of(x))) for a, x in zip(axes, sequences, strict=True)]
    backward = _directions(node, "scan_input_directions", count)
    sizes = {shape_of(x)[axis] for axis, x in zip(axes, sequences, strict=True)}
    if len(sizes) != 1:
        raise InarchError(f"expected scan inputs of one length, found {sorted(sizes)}")
    (iterations,) = sizes
    out_axes = _per(node, "scan_output_axes", columns)
    reverse = _directions(node, "scan_output_directions", columns)
    each = [_moved(node, x, axis, 0) for x, axis in zip(sequences, axes, strict=True)]

    def iteration(given: Sequence[SSAValue], slices: Sequence[SSAValue]) -> Results:
        return inline(body, [*given, *slices], "body")

    if iterations == 0:
        block, count = scan_block(states, each), len(states)
        found = no_iterations(
            node, states, block, lambda args: iteration(args[:count], args[count:])
        )
    else:
        found = scan(node, iterations, states, each, iteration, (backward, reverse))
    if found is None:
        return None
    stacked = [
        _moved(node, column, 0, node.axis(axis, len(shape_of(column))))
        for column, axis in zip(found[len(states) :], out_axes, strict=True)
    ]
    return [*found[: len(states)], *stacked]


def _directions(node: Node, name: str, count: int) -> list[int]:
    """1 for what goes backward."""
    return [int(number != 0) for number in _per(node, name, count)]


def _moved(node: Node, x: SSAValue, source: int, target: int) -> SSAValue:
    """`x` with dimension `source` at `target`."""
    if source == target:
        return x
    perm = [axis for axis in range(len(shape_of(x))) if axis != source]
    perm.insert(target, source)
    return node.graph.transpose(x, perm=perm)


def _per(node: Node, name: str, count: int) -> list[int]:
    found = node.ints(name, [0] * count)
    check_count(name, count, len(found))
    return found


CONTROL: Mapping[str, Callable[[Node, Inline], Results]] = {"If": _if, "Loop": loop, "Scan": _scan}
