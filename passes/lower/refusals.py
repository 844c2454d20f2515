"""Why an algorithm does not apply to an op: reasons that several algorithms have. Each is a text, or None."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.layout import channel_blocks
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.ir.target import GENERIC, target_of


def unless_f32(value: SSAValue) -> str | None:
    """Another type of elements."""
    found = tensor_dtype(value).name
    return None if found == "f32" else f"expected f32, found {found}"


def unless_one_group(op: ConvOp | ConvTransposeOp) -> str | None:
    """Several groups of channels."""
    groups = op.groups.value.data
    return None if groups == 1 else f"it has {groups} groups; expected one"


def unless_steps_of_one(op: ConvOp) -> str | None:
    """Strides or dilations above 1."""
    steps = {*ints(op.strides), *ints(op.dilations)}
    return None if steps == {1} else "expected strides and dilations of 1"


def unless_filled(op: ConvOp, lanes: int) -> str | None:
    """Channels that do not fill blocks of `lanes`, where weights are arguments, which nothing fills up."""
    inputs, outputs = shape_of(op.x)[1], shape_of(op.out)[1]
    is_constant = all(isinstance(value.owner, ConstantOp) for value in op.operands[1:])
    if is_constant or not (inputs % lanes or outputs % lanes):
        return None
    found = f"weights that are arguments, of {inputs} and {outputs}"
    return f"expected constant weights, or whole blocks of {lanes} channels, found {found}"


def unless_blocked(op: Operation) -> str | None:
    """Channels that are not in blocks of one size, in x and in the result."""
    first, last = channel_blocks(op.operands[0]), channel_blocks(op.results[0])
    if first and last:
        found = f"found {first} and {last} channels"
        return f"expected blocks of one size, {found}" if first != last else None
    expected, root = "expected channels in blocks, in x and in the result", op.get_toplevel_object()
    target = target_of(root) if isinstance(root, ModuleOp) else None
    if target is None or target.architecture == GENERIC:
        why = "nothing is known of its vectors; name another --target"
        return f"{expected}, which target '{GENERIC}' never has, as {why}"
    lanes = target.vector_bytes // tensor_dtype(op.operands[0]).nbytes
    if isinstance(op, ConvOp) and (refused := unless_filled(op, lanes)):
        return refused
    return f"{expected}, found row-major; a convolution of one group in f32 gets them where this is named"
