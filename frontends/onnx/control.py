"""If, Loop and Scan: branches and scans stay what they are, and so do loops whose turns are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.elementwise.arithmetic import AddOp
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.regions.scan import MAX_TURNS
from inarch.dialects.graph.shape import ConcatOp, TransposeOp
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.branch import branch
from inarch.frontends.onnx.regions.scan import scan
from inarch.frontends.onnx.report import NotSupportedError

if TYPE_CHECKING:
    from onnx import GraphProto

MAX_NODES = 20_000
"""Nodes that a loop may make: turns times nodes of its body."""

MAX_KNOWN = 1000
"""Nodes that a loop on constants may make before it is one: what it computes, shapes may depend on."""

Results: TypeAlias = "list[SSAValue] | None"


class Inline(Protocol):
    """Converts a subgraph on these inputs, under a name; None when something in it is unsupported."""

    def __call__(self, graph: GraphProto, inputs: Sequence[SSAValue], name: str) -> Results:
        """What is unsupported is reported."""
        ...

    def attempt(self, graph: GraphProto, inputs: Sequence[SSAValue], name: str) -> Results:
        """None also where it is wrong; nothing is reported, as there is another way."""
        ...


def _if(node: Node, inline: Inline) -> Results:
    """The branch of a known condition; else both, of which one runs."""
    condition = node.x(0)
    if node.shape(0) not in ((), (1,)):
        raise InarchError(f"expected a condition of one element, found shape {node.shape(0)}")
    names = ("then_branch", "else_branch")
    if condition in node.builder.arrays:
        is_set = bool(node.builder.arrays[condition].reshape(-1)[0])
        return _branch(node, inline, names[0] if is_set else names[1])
    flag = node.reshape(condition, ())
    return branch(node, flag, lambda name: _branch(node, inline, name))


def _branch(node: Node, inline: Inline, name: str) -> Results:
    graph = node.attributes[name].g
    _check_count(f"outputs of {name}", node.outputs, len(graph.output))
    return inline(graph, [], name)


def _loop(node: Node, inline: Inline) -> Results:
    """As many turns as the trip count says, and as the body's condition lasts; both are known.

    One loop where its turns are alike, and not all that it computes is known: sizes, mostly.
    """
    body = node.attributes["body"].g
    states = [node.x(index) for index in range(2, len(node.inputs))]
    _check_count("inputs of the body", len(states) + 2, len(body.input))
    turns = int(node.scalar(0, "trip count")) if node.has(0) else None
    goes_on = bool(node.scalar(1, "condition")) if node.has(1) else True
    collected: list[list[SSAValue]] = [[] for _ in body.output[len(states) + 1 :]]
    _check_count("outputs of the body", node.outputs + 1, len(body.output))
    if goes_on and turns is not None and not _may_end(body):
        _check_turns(turns)
        is_known = bool(states) and all(state in node.builder.arrays for state in states)
        is_short = turns * max(1, len(body.node)) <= MAX_KNOWN
        found = _counted(node, inline, turns, states) if not (is_known and is_short) else None
        if found is not None:
            return found
        _check_size(turns, body)
    turn = 0
    while goes_on and (turns is None or turn < turns):
        _check_size(turn + 1, body)
        given = [node.constant(np.array(turn, np.int64)), node.constant(np.array(goes_on)), *states]
        found = inline(body, given, str(turn))
        if found is None:
            return None
        condition, *results = found
        if condition not in node.builder.arrays:
            raise NotSupportedError("a condition that turns compute")
        goes_on = bool(node.builder.arrays[condition].reshape(-1)[0])
        states = results[: len(states)]
        for column, value in zip(collected, results[len(states) :], strict=True):
            column.append(value)
        turn += 1
    return [*states, *(_stack(node, column, 0) for column in collected)]


def _counted(node: Node, inline: Inline, turns: int, states: list[SSAValue]) -> Results:
    """The loop as a scan; None where a turn has to know its number, or changes the sizes of states."""
    if turns < 2:
        return None
    body = node.attributes["body"].g
    goes_on = node.constant(np.array(True))
    counter = node.constant(np.array(0, np.int64))
    has_counter = _is_used(body, body.input[0].name)
    columns = len(body.output) - 1 - len(states)

    def turn(given: Sequence[SSAValue], slices: Sequence[SSAValue]) -> Results:
        del slices
        own = given[1:] if has_counter else given
        number = given[0] if has_counter else counter
        found = inline.attempt(body, [number, goes_on, *own], "body")
        if found is None or not _is_set(node, found[0]):
            return None
        if not has_counter:
            return found[1:]
        return [node.emit(AddOp, number, node.constant(np.array(1, np.int64))), *found[1:]]

    first = [counter, *states] if has_counter else states
    try:
        results = scan(node, turns, first, [], turn, ([], [0] * columns))
    except NotSupportedError:  # of a state of several types
        return None
    return results[1:] if results is not None and has_counter else results


def _is_set(node: Node, condition: SSAValue) -> bool:
    known = node.builder.arrays.get(condition)
    return known is not None and bool(known.reshape(-1)[0])


def _is_used(graph: GraphProto, name: str) -> bool:
    """Whether a node of the graph, or of one in it, takes what has that name, or the graph gives it."""
    return name in {info.name for info in graph.output} or any(
        name in node.input
        or any(_is_used(each, name) for a in node.attribute for each in (a.g, *a.graphs))
        for node in graph.node
    )


def _may_end(body: GraphProto) -> bool:
    """Whether the condition that the body gives can be another in another turn."""
    wanted = {body.output[0].name} if body.output else set[str]()
    for inner in reversed(body.node):
        if wanted.intersection(inner.output):
            wanted.update(inner.input)
            if any(a.HasField("g") or a.graphs for a in inner.attribute):
                return True  # what a subgraph uses is not looked for
    changing = {info.name for index, info in enumerate(body.input) if index != 1}
    return bool(wanted & changing)


def _scan(node: Node, inline: Inline) -> Results:
    """One turn a slice of the scan inputs; what the turns make is stacked."""
    if node.opset < 9:
        raise NotSupportedError("opset 8")
    body, count = node.attributes["body"].g, node.int("num_scan_inputs", 0)
    values = [node.x(index) for index in range(len(node.inputs))]
    if not 1 <= count <= len(values):
        raise InarchError(f"expected num_scan_inputs from 1 to {len(values)}, found {count}")
    states, sequences = values[: len(values) - count], values[len(values) - count :]
    _check_count("inputs of the body", len(values), len(body.input))
    _check_count("outputs of the body", node.outputs, len(body.output))
    columns = node.outputs - len(states)
    axes = _per(node, "scan_input_axes", count)
    axes = [node.axis(a, len(shape_of(x))) for a, x in zip(axes, sequences, strict=True)]
    backward = _directions(node, "scan_input_directions", count)
    sizes = {shape_of(x)[axis] for axis, x in zip(axes, sequences, strict=True)}
    if len(sizes) != 1:
        raise InarchError(f"expected scan inputs of one length, found {sorted(sizes)}")
    (turns,) = sizes
    out_axes = _per(node, "scan_output_axes", columns)
    reverse = _directions(node, "scan_output_directions", columns)
    if turns == 0:
        return _no_turns(states, columns)
    each = [_moved(node, x, axis, 0) for x, axis in zip(sequences, axes, strict=True)]

    def turn(given: Sequence[SSAValue], slices: Sequence[SSAValue]) -> Results:
        return inline(body, [*given, *slices], "body")

    found = scan(node, turns, states, each, turn, (backward, reverse))
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


def _no_turns(states: list[SSAValue], columns: int) -> list[SSAValue]:
    if columns:
        raise NotSupportedError("outputs of no turns")
    return states


def _moved(node: Node, x: SSAValue, source: int, target: int) -> SSAValue:
    """`x` with dimension `source` at `target`."""
    if source == target:
        return x
    perm = [axis for axis in range(len(shape_of(x))) if axis != source]
    perm.insert(target, source)
    return node.emit(TransposeOp, x, perm=perm)


def _stack(node: Node, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """The values along a new axis."""
    if not values:
        raise NotSupportedError("outputs of no turns")
    shape = shape_of(values[0])
    if any(shape_of(value) != shape for value in values):
        raise NotSupportedError("outputs of several shapes")
    axis = node.axis(axis, len(shape) + 1)
    parts = [node.reshape(value, (*shape[:axis], 1, *shape[axis:])) for value in values]
    return parts[0] if len(parts) == 1 else node.emit(ConcatOp, *parts, axis=axis)


def _per(node: Node, name: str, count: int) -> list[int]:
    found = node.ints(name, [0] * count)
    _check_count(name, count, len(found))
    return found


def _check_count(what: str, expected: int, found: int) -> None:
    if expected != found:
        raise InarchError(f"expected {expected} {what}, found {found}")


def _check_turns(turns: int) -> None:
    if turns > MAX_TURNS:
        raise InarchError(f"expected a trip count of at most {MAX_TURNS}, found {turns}")


def _check_size(turns: int, body: GraphProto) -> None:
    if turns * max(1, len(body.node)) > MAX_NODES:
        raise NotSupportedError(f"a loop of more than {MAX_NODES} nodes")


CONTROL: Mapping[str, Callable[[Node, Inline], Results]] = {"If": _if, "Loop": _loop, "Scan": _scan}
