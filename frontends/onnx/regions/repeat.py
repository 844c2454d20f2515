"""Building `graph.while`: a turn is built as ops ever are, and becomes its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Region, SSAValue

from inarch.dialects.graph.regions.repeat import WhileOp, while_block
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.body import building, close, end
from inarch.frontends.onnx.regions.scan import check_states
from inarch.ir.location import named_location

Turn = Callable[[SSAValue, Sequence[SSAValue]], "list[SSAValue] | None"]
"""Of the turn's number and the states: the condition of another turn, and the next states."""


def repeat(
    node: Node, turns: SSAValue, condition: SSAValue, states: Sequence[SSAValue], turn: Turn
) -> list[SSAValue] | None:
    """The states after at most `turns` turns, of type i64, as long as a condition lasts; both of shape ().

    `turn` builds the ops of one turn, as ever, with any values; those from outside become operands of the
    while. None when something is unsupported. Raises NotSupportedError for a state that changes its type.
    """
    block = while_block(states)
    with building(node.builder, block):
        found = turn(block.args[0], block.args[1:])
    if found is None:
        node.builder.drop(block)
        return None
    check_states(node, states, found[1:], block)
    end(node, block, found)
    outer = close(node.builder, [block])
    for value in (turns, condition, *states):
        node.builder.insert(value)
    op = WhileOp(turns, condition, states, outer, Region(block))
    op.location = named_location(node.name)
    node.builder.add(op)
    return list(op.outs)
