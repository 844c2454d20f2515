"""Building `graph.scan`: ops that are made into its body, and what they use from outside of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.core.errors import InarchError
from inarch.dialects.graph.composite import YieldOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.regions.scan import ScanOp, scan_block
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.report import NotSupportedError
from inarch.frontends.onnx.tensors import check_shape
from inarch.ir.location import named_location

Values: TypeAlias = "Sequence[SSAValue]"

Turn: TypeAlias = Callable[[Values, Values], "list[SSAValue] | None"]
"""Of the states and the slices: the next states, then what is stacked; None when that is unsupported."""


def scan(
    node: Node,
    turns: int,
    states: Values,
    each: Values,
    turn: Turn,
    backward: tuple[Sequence[int], Sequence[int]],
) -> list[SSAValue] | None:
    """The states after `turns` turns, then what they made, stacked.

    `turn` builds the ops of one turn, as ever, with any values; those from outside become operands of the
    scan. `backward` has a 1 for what is taken, and what is put, from the end. Raises NotSupportedError for a
    state that changes its type.
    """
    builder = node.builder
    outside, block = builder.block, scan_block(states, each)
    builder.block = block
    try:
        given = block.args
        found = turn(given[: len(states)], given[len(states) :])
    finally:
        builder.block = outside
        _take_out_constants(block)
    changed = None if found is None else _changed(states, found)
    if found is None or changed is not None:
        block.erase(safe_erase=False)
    if found is None:
        return None
    if changed is not None:
        raise NotSupportedError(f"a state of {changed[0]} that becomes {changed[1]}")
    block.add_op(end := YieldOp(*found))
    outer = _close(block)
    for value in (*states, *each, *outer):
        builder.insert(value)
    try:
        op = ScanOp(turns, states, each, outer, Region(block), [*backward[0], *backward[1]])
        op.check()
    except VerifyException as error:
        raise InarchError(str(error)) from error
    for each_op in (op, end):
        each_op.location = named_location(node.name)
    for result in op.outs:
        check_shape(shape_of(result), tensor_dtype(result).nbytes)
    builder.block.add_op(op)
    return list(op.outs)


def _take_out_constants(block: Block) -> None:
    """Constants are made where they are first used: those of a body go where the scan is."""
    for op in list(block.ops):
        if isinstance(op, ConstantOp):
            op.detach()


def _changed(states: Values, found: Values) -> tuple[object, object] | None:
    pairs = zip(states, found, strict=False)
    return next(((a.type, b.type) for a, b in pairs if a.type != b.type), None)


def _close(block: Block) -> list[SSAValue]:
    """What the block uses from outside, each once; it has arguments for these instead."""
    inside: set[SSAValue] = set(block.args)
    arguments: dict[SSAValue, SSAValue] = {}
    for op in block.ops:
        for index, value in enumerate(op.operands):
            if value in inside:
                continue
            if value not in arguments:
                arguments[value] = block.insert_arg(value.type, len(block.args))
                arguments[value].name_hint = value.name_hint
            op.operands[index] = arguments[value]
        inside.update(op.results)
    return list(arguments)
