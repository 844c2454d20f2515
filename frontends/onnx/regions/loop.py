"""Loop: a scan where the iterations are known and alike, as many copies of a few, else a while."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.ir import Block, SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.regions.scan import MAX_ITERATIONS
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.body import building, no_iterations
from inarch.frontends.onnx.regions.inline import Inline, Results, check_count
from inarch.frontends.onnx.regions.repeat import repeat
from inarch.frontends.onnx.regions.scan import scan
from inarch.frontends.report import AT_RUN_TIME, NotSupportedError

if TYPE_CHECKING:
    from onnx import GraphProto

MAX_NODES = 20_000
"""Nodes that a loop may make: iterations times nodes of its body."""

MAX_KNOWN = 1000
"""Nodes that a loop on constants may make before it is one: what it computes, shapes may depend on."""

_MOST_ITERATIONS = (1 << 63) - 1
"""Of a loop without a trip count: what its counter of 64 bits holds."""


def loop(node: Node, inline: Inline) -> Results:
    """As many iterations as the trip count says, and as the body's condition lasts.

    One loop where its iterations are alike, and not all that it computes is known: sizes, mostly. Outputs of
    each iteration that nothing takes are not made.
    """
    body = node.attributes["body"].g
    states = [node.x(index) for index in range(2, len(node.inputs))]
    check_count("inputs of the body", len(states) + 2, len(body.input))
    check_count("outputs of the body", node.outputs + 1, len(body.output))
    kept = [at for at in range(node.outputs) if at < len(states) or at not in node.unused]
    if len(kept) == node.outputs:
        return _loop(node, inline, states)
    found = _loop(_with_outputs(node, kept), inline, states)
    if found is None:
        return None
    made = dict(zip(kept, found, strict=True))
    nothing = node.constant(np.array(0, np.int64))  # nobody asks for it
    return [made.get(at, nothing) for at in range(node.outputs)]


def _with_outputs(node: Node, kept: Sequence[int]) -> Node:
    """The node with some of its outputs only."""
    attribute = type(node.attributes["body"])()
    attribute.CopyFrom(node.attributes["body"])
    outputs = list(attribute.g.output)
    del attribute.g.output[:]
    attribute.g.output.extend([outputs[0], *(outputs[at + 1] for at in kept)])
    attributes = {**node.attributes, "body": attribute}
    return replace(node, outputs=len(kept), attributes=attributes, unused=frozenset())


def _loop(node: Node, inline: Inline, states: list[SSAValue]) -> Results:
    body = node.attributes["body"].g
    if any(node.has(index) and node.x(index) not in node.builder.arrays for index in (0, 1)):
        return _computed(node, inline, states)
    iterations = int(node.scalar(0, "trip count")) if node.has(0) else None
    goes_on = bool(node.scalar(1, "condition")) if node.has(1) else True
    if not goes_on:
        iterations = 0
    if iterations is not None and not _may_end(body):
        return _alike(node, inline, iterations, states)
    return _ending(node, inline, iterations, states)


# ------------------------------------------------------------------------------ known iterations


def _alike(node: Node, inline: Inline, iterations: int, states: list[SSAValue]) -> Results:
    """So many iterations, whatever they compute."""
    body = node.attributes["body"].g
    _check_iterations(iterations)
    is_known = bool(states) and all(state in node.builder.arrays for state in states)
    is_short = iterations * max(1, len(body.node)) <= MAX_KNOWN
    found = _counted(node, inline, iterations, states) if not (is_known and is_short) else None
    if found is not None:
        return found
    has_columns = node.outputs > len(states)
    if not has_columns and not is_short:
        found = _while(node, inline, states)
        if found is not None:
            return found
    _check_size(iterations, body, MAX_NODES)
    try:
        return _copies(node, inline, iterations, states, MAX_NODES)
    except NotSupportedError:  # of a condition from outside, which is known at run time only
        if has_columns:
            raise
        return _repeated(node, inline, states)


def _counted(node: Node, inline: Inline, iterations: int, states: list[SSAValue]) -> Results:
    """The loop as a scan; None where an iteration has to know its number, or changes the sizes of states."""
    if iterations < 2:
        return None
    body = node.attributes["body"].g
    goes_on = node.constant(np.array(True))
    counter = node.constant(np.array(0, np.int64))
    has_counter = _is_used(body, body.input[0].name)
    columns = len(body.output) - 1 - len(states)

    def iteration(given: Sequence[SSAValue], slices: Sequence[SSAValue]) -> Results:
        del slices
        own = given[1:] if has_counter else given
        number = given[0] if has_counter else counter
        found = inline.attempt(body, [number, goes_on, *own], "body")
        if found is None or not _is_set(node, found[0]):
            return None
        if not has_counter:
            return found[1:]
        return [node.graph.add(number, node.constant(np.array(1, np.int64))), *found[1:]]

    first = [counter, *states] if has_counter else states
    try:
        results = scan(node, iterations, first, [], iteration, ([], [0] * columns))
    except NotSupportedError:  # of a state of several types
        return None
    return results[1:] if results is not None and has_counter else results


def _ending(node: Node, inline: Inline, iterations: int | None, states: list[SSAValue]) -> Results:
    """TripCounts until the body's condition ends them: a few copies where it is known, else a while.

    More copies where only they know what they compute: sizes that change, and outputs of each iteration.
    """
    few = _few(node, inline, iterations, states)
    if few is not None:
        return few
    if node.outputs > len(states):
        return _copies(node, inline, iterations, states, MAX_NODES)
    found = _while(node, inline, states)
    if found is not None:
        return found
    try:
        return _copies(node, inline, iterations, states, MAX_NODES)
    except NotSupportedError:  # the other way says why it is none
        return _repeated(node, inline, states)


def _while(node: Node, inline: Inline, states: list[SSAValue]) -> Results:
    """The loop as a while; None where an iteration has to know its number, or changes the sizes of states."""
    try:
        return _repeated(node, inline.attempt, states)
    except NotSupportedError:  # of a state of several types
        return None


def _few(node: Node, inline: Inline, iterations: int | None, states: list[SSAValue]) -> Results:
    """Copies of iterations whose end is known, if they are few; None, and nothing is built, if not."""
    builder, block = node.builder, Block()
    with building(builder, block):
        try:
            found = _copies(node, inline, iterations, states, MAX_KNOWN, trial=True)
        except NotSupportedError:
            found = None
    if found is None:
        builder.drop(block)
        return None
    for op in list(block.ops):
        for operand in op.operands:
            builder.insert(operand)
        op.detach()
        builder.block.add_op(op)
    return found


def _copies(
    node: Node,
    inline: Inline,
    iterations: int | None,
    states: list[SSAValue],
    most: int,
    *,
    trial: bool = False,
) -> Results:
    """Iteration after iteration, up to `most` nodes. Raises NotSupportedError where the end is not known."""
    body = node.attributes["body"].g
    columns: list[list[SSAValue]] = [[] for _ in body.output[len(states) + 1 :]]
    goes_on, iteration = True, 0
    while goes_on and (iterations is None or iteration < iterations):
        _check_size(iteration + 1, body, most)
        given = [
            node.constant(np.array(iteration, np.int64)),
            node.constant(np.array(True)),
            *states,
        ]
        found = (inline.attempt if trial else inline)(body, given, str(iteration))
        if found is None:
            return None
        condition, *results = found
        if condition not in node.builder.arrays:
            raise _unknown_outputs(node, condition)
        goes_on = _is_set(node, condition)
        states = results[: len(states)]
        for column, value in zip(columns, results[len(states) :], strict=True):
            column.append(value)
        iteration += 1
    if columns and not iteration:
        given = [node.constant(np.array(0, np.int64)), node.constant(np.array(True)), *states]
        return no_iterations(node, states, Block(), lambda _: inline(body, given, "0"))
    return [*states, *(_stack(node, column, 0) for column in columns)]


# ------------------------------------------------------------------------------ computed iterations


def _computed(node: Node, inline: Inline, states: list[SSAValue]) -> Results:
    """The loop as a while: its trip count or its first condition is known at run time only."""
    if node.outputs > len(states):
        unknown = [at for at in (0, 1) if node.has(at) and node.x(at) not in node.builder.arrays]
        raise _unknown_outputs(node, node.x(unknown[0]))
    return _repeated(node, inline, states)


def _repeated(
    node: Node,
    inline: Callable[[GraphProto, Sequence[SSAValue], str], Results],
    states: list[SSAValue],
) -> Results:
    """The loop as a while. Raises InarchError for one that nothing can end."""
    body = node.attributes["body"].g
    goes_on = node.constant(np.array(True))
    iterations = node.x(0) if node.has(0) else node.constant(np.array(_MOST_ITERATIONS, np.int64))
    condition = node.x(1) if node.has(1) else goes_on
    ends = node.has(0) or not _is_set(node, condition)

    def iteration(number: SSAValue, given: Sequence[SSAValue]) -> Results:
        found = inline(body, [number, goes_on, *given], "body")
        if found is None:
            return None
        if not ends and _is_set(node, found[0]):
            raise InarchError(
                "expected a loop that ends, found no trip count and a condition that always holds; "
                "give it one of them"
            )
        return [_scalar(node, found[0], "a condition"), *found[1:]]

    number = _scalar(node, iterations, "a trip count")
    return repeat(node, number, _scalar(node, condition, "a condition"), states, iteration)


def _scalar(node: Node, value: SSAValue, what: str) -> SSAValue:
    """A value of one element, of shape ()."""
    shape = shape_of(value)
    if math.prod(shape) != 1:
        raise InarchError(f"expected {what} of one element, found shape {shape}")
    return node.reshape(value, ())


def _unknown_outputs(node: Node, value: SSAValue) -> NotSupportedError:
    """Of outputs whose length is computed; the trip count, where it is known, is the most that it can be.

    `value` is what says how many there are.
    """
    known = node.has(0) and node.x(0) in node.builder.arrays
    room = f"{max(0, int(node.scalar(0, 'trip count')))}" if known else "all"
    return NotSupportedError(
        f"an output of each iteration, whose number {AT_RUN_TIME} (carry a state with room for {room} "
        "iterations, and write to it with ScatterND where the iteration's number says)",
        value,
        flows=True,
    )


# ------------------------------------------------------------------------------ what a body says


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
    """Whether the condition that the body gives can be another in another iteration."""
    wanted = {body.output[0].name} if body.output else set[str]()
    for inner in reversed(body.node):
        if wanted.intersection(inner.output):
            wanted.update(inner.input)
            if any(a.HasField("g") or a.graphs for a in inner.attribute):
                return True  # what a subgraph uses is not looked for
    changing = {info.name for index, info in enumerate(body.input) if index != 1}
    return bool(wanted & changing)


def _stack(node: Node, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """The values, of which there is one at least, along a new axis."""
    shape = shape_of(values[0])
    if any(shape_of(value) != shape for value in values):
        raise NotSupportedError("outputs of several shapes")
    axis = node.axis(axis, len(shape) + 1)
    parts = [node.reshape(value, (*shape[:axis], 1, *shape[axis:])) for value in values]
    return parts[0] if len(parts) == 1 else node.graph.concat(*parts, axis=axis)


def _check_iterations(iterations: int) -> None:
    if iterations > MAX_ITERATIONS:
        raise InarchError(f"expected a trip count of at most {MAX_ITERATIONS}, found {iterations}")


def _check_size(iterations: int, body: GraphProto, most: int) -> None:
    if iterations * max(1, len(body.node)) > most:
        raise NotSupportedError(f"a loop of more than {most} nodes")
