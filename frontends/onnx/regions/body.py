"""Bodies of ops: ops that are made into a block, and what they use from outside of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Block, SSAValue

from inarch.core.lazy import np
from inarch.dialects.graph.composite import YieldOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.builder import Builder
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.inline import Results
from inarch.ir.location import named_location


@contextmanager
def building(builder: Builder, block: Block) -> Generator[None]:
    """Within, ops are made into `block`; constants that they use stay outside, where the op will be.

    A constant is put where it is first used, and others may use it later.
    """
    outside, builder.block = builder.block, block
    try:
        yield
    finally:
        builder.block = outside
        for op in list(block.ops):
            if isinstance(op, ConstantOp):
                op.detach()


def no_iterations(
    node: Node,
    states: Sequence[SSAValue],
    block: Block,
    iteration: Callable[[Sequence[SSAValue]], Results],
) -> Results:
    """What no iterations make: the states as they are, and columns without elements.

    `iteration` builds an iteration on the arguments of `block`, which only says what is in a column.
    """
    with building(node.builder, block):
        found = iteration(block.args)
    columns = [] if found is None else found[len(found) - node.outputs + len(states) :]
    kinds = [(shape_of(value), tensor_dtype(value).numpy) for value in columns]
    node.builder.drop(block)
    if found is None:
        return None
    return [*states, *(node.constant(np.empty((0, *shape), kind)) for shape, kind in kinds)]


def end(node: Node, block: Block, values: Sequence[SSAValue]) -> None:
    """Ends a body with what it yields."""
    last = YieldOp(*values)
    last.location = named_location(node.name)
    block.add_op(last)


def close(builder: Builder, blocks: Sequence[Block]) -> list[SSAValue]:
    """What the blocks use from outside, each once: they have arguments for it instead, the same in all."""
    arguments: dict[SSAValue, list[SSAValue]] = {}
    for at, block in enumerate(blocks):
        inside: set[SSAValue] = set(block.args)
        for op in block.ops:
            for index, value in enumerate(op.operands):
                if value in inside:
                    continue
                if value not in arguments:
                    arguments[value] = [_argument(each, value) for each in blocks]
                    inside.add(arguments[value][at])
                op.operands[index] = arguments[value][at]
            inside.update(op.results)
    for value in arguments:
        builder.insert(value)
    return list(arguments)


def _argument(block: Block, value: SSAValue) -> SSAValue:
    made = block.insert_arg(value.type, len(block.args))
    made.name_hint = value.name_hint
    return made
