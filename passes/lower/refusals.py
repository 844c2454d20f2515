"""Why an algorithm does not apply to an op: reasons that several algorithms have. Each is a text, or None."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.dialects.graph.op import ints, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp


def unless_f32(value: SSAValue) -> str | None:
    """Another type of elements."""
    found = tensor_dtype(value).name
    return None if found == "f32" else f"expected f32, found {found}"


def unless_one_group(op: ConvOp) -> str | None:
    """Several groups of channels."""
    groups = op.groups.value.data
    return None if groups == 1 else f"it has {groups} groups; expected one"


def unless_steps_of_one(op: ConvOp) -> str | None:
    """Strides or dilations above 1."""
    steps = {*ints(op.strides), *ints(op.dilations)}
    return None if steps == {1} else "expected strides and dilations of 1"
