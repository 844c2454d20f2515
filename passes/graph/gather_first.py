"""Picks rows of a table before they are computed, not after: an embedding is dequantized where it is used.

    gather(f(table, scale), ids)    -->    f(gather(table, ids), scale)

for elementwise `f`, whose other operands are picked from, too, where they have rows of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import GraphOp, shape_of
from inarch.dialects.graph.shape import ReshapeOp
from inarch.ir.context import store_of
from inarch.ir.edit import erase, insert_before
from inarch.ir.passes import OptionalPass
from inarch.passes.graph._dead import erase_dead


@dataclass(frozen=True)
class GatherFirstPass(OptionalPass):
    """Moves elementwise ops behind the `gather` that reads what they compute, as far as they go.

    Of a table that gathers alone read, all of them together less than all of it, in the block where it is
    computed. What `fold-constants` makes a constant is none of it: it costs nothing.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        left = [each for each in op.walk() if isinstance(each, GatherOp)]
        while left:
            gather = left.pop()
            computed = gather.data.owner
            if gather.parent is None or not isinstance(computed, ElementwiseOp):
                continue  # it was moved with another one of its table
            gathers = _readers(computed)
            if gathers:
                left += [new for each in gathers for new in _moved(each, computed)]
                erase(computed)
        erase_dead(op, store_of(ctx))


def _readers(computed: ElementwiseOp) -> list[GatherOp]:
    """The gathers of a table that alone read it, less than it is, where it is computed; else none."""
    (table,) = computed.results
    users = [use.operation for use in table.uses]
    shape = shape_of(table)
    found = [
        user
        for user in users
        if isinstance(user, GatherOp)
        and user.data is table
        and user.indices is not table
        and user.parent is computed.parent
        and shape[user.axis.value.data] > 1
    ]
    picked = sum(math.prod(shape_of(gather.out)) for gather in found)
    return found if len(found) == len(users) and picked < math.prod(shape) else []


def _moved(gather: GatherOp, computed: ElementwiseOp) -> list[GatherOp]:
    """Computes what a gather picks behind it; the gathers that stand in its place."""
    made: list[GraphOp] = []
    operands = [_picked(value, gather, made) for value in computed.operands]
    last = computed.create(
        operands=operands,
        properties=computed.properties.copy(),
        result_types=[gather.out.type],
        location=computed.location,
    )
    last.results[0].name_hint = gather.out.name_hint
    insert_before(gather, *made, last)
    gather.out.replace_all_uses_with(last.results[0])
    erase(gather)
    return [one for one in made if isinstance(one, GatherOp)]


def _picked(value: SSAValue, gather: GatherOp, made: list[GraphOp]) -> SSAValue:
    """What stands for an operand of the table behind the gather; ops that make it are added to `made`."""
    axis, table = gather.axis.value.data, shape_of(gather.data)
    shape = shape_of(value)
    behind = len(table) - 1 - axis
    if len(shape) <= behind:
        return value  # of dimensions behind the axis alone
    whole = (1,) * (len(table) - len(shape)) + shape
    if whole[axis] == 1:
        ones = (1,) * len(shape_of(gather.indices))
        return _reshaped(value, (*whole[:axis], *ones, *whole[axis + 1 :]), gather, made)
    rows = _reshaped(value, whole, gather, made)
    picked = GatherOp.make(rows, gather.indices, axis=axis, location=gather.location)
    made.append(picked)
    return picked.out


def _reshaped(
    value: SSAValue, shape: tuple[int, ...], near: Operation, made: list[GraphOp]
) -> SSAValue:
    if shape_of(value) == shape:
        return value
    reshaped = ReshapeOp.make(value, shape=shape, location=near.location)
    made.append(reshaped)
    return reshaped.results[0]
