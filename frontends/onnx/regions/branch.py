"""Building `graph.if`: both branches are built as ops ever are, and become its bodies."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Region, SSAValue

from inarch.core.errors import InarchError
from inarch.core.limits import LimitError
from inarch.dialects.graph.regions.branch import IfOp
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.body import building, close, end
from inarch.frontends.report import AT_RUN_TIME, NotSupportedError, UndefinedError
from inarch.ir.location import named_location


def branch(
    node: Node, condition: SSAValue, build: Callable[[str], list[SSAValue] | None]
) -> list[SSAValue] | None:
    """What `build` makes of the branch that is taken, `then_branch` or `else_branch`.

    None where one is unsupported. Raises NotSupportedError where they make values of different types, and
    where one is wrong: its condition may hold for other sizes only.
    """
    blocks: list[Block] = []
    made: list[list[SSAValue]] = []
    for name in ("then_branch", "else_branch"):
        block = Block()
        try:
            with building(node.builder, block):
                found = build(name)
        except (UndefinedError, LimitError):
            raise
        except InarchError as error:
            node.builder.drop(block)
            raise NotSupportedError(
                f"a condition that {AT_RUN_TIME}, with a branch that cannot be: {error}",
                condition,
                flows=True,
            ) from error
        if found is None:
            node.builder.drop(block)
            continue
        end(node, block, found)
        blocks.append(block)
        made.append(found)
    if len(made) < 2:
        return None
    for left, right in zip(*made, strict=True):
        if left.type != right.type:
            what = f"a condition between {left.type} and {right.type}"
            raise NotSupportedError(what, condition, flows=True)
    inputs = close(node.builder, blocks)
    node.builder.insert(condition)
    op = IfOp(condition, inputs, Region(blocks[0]), Region(blocks[1]))
    op.location = named_location(node.name)
    node.builder.add(op)
    return list(op.outs)
