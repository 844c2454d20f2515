"""Building `graph.scan`: an iteration is built as ops ever are, and becomes its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.core.errors import InarchError
from inarch.core.limits import check_shape
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.regions.scan import ScanOp, scan_block
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.body import building, close, end
from inarch.frontends.report import NotSupportedError
from inarch.ir.location import named_location

Values: TypeAlias = "Sequence[SSAValue]"

Iteration: TypeAlias = Callable[[Values, Values], "list[SSAValue] | None"]
"""Of the states and the slices: the next states, then what is stacked; None when that is unsupported."""


def scan(
    node: Node,
    iterations: int,
    states: Values,
    each: Values,
    iteration: Iteration,
    backward: tuple[Sequence[int], Sequence[int]],
) -> list[SSAValue] | None:
    """The states after `iterations` iterations, then what they made, stacked.

    `iteration` builds the ops of one iteration, as ever, with any values; those from outside become operands
    of the scan. `backward` has a 1 for what is taken, and what is put, from the end. Raises NotSupportedError
    for a state that changes its type.
    """
    block = scan_block(states, each)
    with building(node.builder, block):
        found = iteration(block.args[: len(states)], block.args[len(states) :])
    if found is None:
        node.builder.drop(block)
        return None
    check_states(node, states, found, block)
    end(node, block, found)
    outer = close(node.builder, [block])
    for value in (*states, *each):
        node.builder.insert(value)
    op = ScanOp(iterations, states, each, outer, Region(block), [*backward[0], *backward[1]])
    op.location = named_location(node.name)
    try:
        op.check()
    except VerifyException as error:
        raise InarchError(str(error)) from error
    for result in op.outs:
        check_shape(shape_of(result), tensor_dtype(result).nbytes)
    node.builder.add(op)
    return list(op.outs)


def check_states(node: Node, states: Values, found: Values, block: Block) -> None:
    """Raises NotSupportedError where an iteration changes a state's type; its block is then gone."""
    pairs = zip(states, found, strict=False)
    changed = next(((a.type, b.type) for a, b in pairs if a.type != b.type), None)
    if changed is not None:
        node.builder.drop(block)
        raise NotSupportedError(f"a state of {changed[0]} that becomes {changed[1]}")
