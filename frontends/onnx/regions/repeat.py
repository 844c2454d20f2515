"""Building `graph.while`: an iteration is built as ops ever are, and becomes its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Region, SSAValue

from inarch.dialects.graph.regions.repeat import WhileOp, while_block
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.body import building, close, end
from inarch.frontends.onnx.regions.scan import check_states
from inarch.ir.location import named_location

Iteration = Callable[[SSAValue, Sequence[SSAValue]], "list[SSAValue] | None"]
"""Of the iteration's number and the states: the condition of another iteration, and the next states."""


def repeat(
    node: Node,
    iterations: SSAValue,
    condition: SSAValue,
    states: Sequence[SSAValue],
    iteration: Iteration,
) -> list[SSAValue] | None:
    """The states of a loop while a condition lasts, at most `iterations` (i64) times; both of shape ().

    `iteration` builds the ops of one iteration, as ever, with any values; those from outside become operands
    of the while. None when something is unsupported. Raises NotSupportedError for a state that changes its
    type.
    """
    block = while_block(states)
    with building(node.builder, block):
        found = iteration(block.args[0], block.args[1:])
    if found is None:
        node.builder.drop(block)
        return None
    check_states(node, states, found[1:], block)
    end(node, block, found)
    outer = close(node.builder, [block])
    for value in (iterations, condition, *states):
        node.builder.insert(value)
    op = WhileOp(iterations, condition, states, outer, Region(block))
    op.location = named_location(node.name)
    node.builder.add(op)
    return list(op.outs)
