"""The room that consumers of a blocked tensor want around it, so that they need no padded copy.

A window that runs over the edge reads zeros there. So does a maximum over values that are never
negative: each window has an element of the tensor, which no zero exceeds.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue, Use

from inarch.dialects.graph.facts.nonnegative import is_nonnegative
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.windows import Window
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.dialects.graph.windows.pool import AvgPoolOp, MaxPoolOp
from inarch.passes.graph.layout.roles import Role


def halo_for(value: SSAValue, chosen: Mapping[Operation, Role]) -> list[int]:
    """The halo of `value` for those ops that read it blocked, begins then ends; [] for none."""
    rooms = [room for use in value.uses if (room := _room(use, chosen)) is not None]
    largest = [max(numbers) for numbers in zip(*rooms, strict=True)]
    return largest if any(largest) else []


def _room(use: Use, chosen: Mapping[Operation, Role]) -> list[int] | None:
    op = use.operation
    if op not in chosen or use.index not in chosen[op].operands:
        return None
    match op:
        case ConvOp():
            return _outside(op.window(), op.x, op.out)
        case ConvTransposeOp():
            return op.halo()
        case AvgPoolOp():
            return _outside(op.sliding(), op.x, op.out)
        case MaxPoolOp() if is_nonnegative(op.x):
            return _outside(op.sliding(), op.x, op.out)
        case _:
            return None


def _outside(window: Window, x: SSAValue, out: SSAValue) -> list[int]:
    """How far windows reach before and behind each spatial dimension of `x`."""
    ends = [
        max(0, (count - 1) * stride + extent - begin - size)
        for count, stride, extent, begin, size in zip(
            shape_of(out)[2:],
            window.strides,
            window.extents,
            window.begins,
            shape_of(x)[2:],
            strict=True,
        )
    ]
    return [*window.begins, *ends]
