"""Moving ops into a body of their own: what it takes from outside, what it gives, its constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NoneAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from inarch.dialects.graph.composite import body_of
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.edit import erase
from inarch.passes.partition.common import BACKEND, GIVE, KEEP, MATCH, PATTERN, REGION


@dataclass(frozen=True)
class Interface:
    """What ops take from outside, in the order of first use, and which of their results leave."""

    inputs: tuple[SSAValue, ...]
    constants: tuple[ConstantOp, ...]
    """Those that are copied into the body instead of passed."""
    outputs: tuple[OpResult, ...]


def interface_of(ops: Sequence[Operation], *, bind_constants: bool) -> Interface:
    """The interface of `ops`, which are in program order."""
    inside = set(ops)
    inputs: dict[SSAValue, None] = {}
    constants: dict[ConstantOp, None] = {}
    outputs: list[OpResult] = []
    for op in ops:
        for value in op.operands:
            maker = value.op if isinstance(value, OpResult) else None
            if bind_constants and type(maker) is ConstantOp:
                constants.setdefault(maker)
            elif maker is None or maker not in inside:
                inputs.setdefault(value)
        outputs += [
            result
            for result in op.results
            if any(use.operation not in inside for use in result.uses)
        ]
    return Interface(tuple(inputs), tuple(constants), tuple(outputs))


def move_into_body(ops: Sequence[Operation], interface: Interface) -> Block:
    """A block with `ops` themselves (not copies), taken out of the program, without a terminator.

    The users outside still use the results: replace them by those of what stands for the block.
    """
    block = body_of(interface.inputs)
    replaced: dict[SSAValue, SSAValue] = dict(zip(interface.inputs, block.args, strict=True))
    for constant in interface.constants:
        copy = constant.clone()
        copy.location = constant.location
        replaced[constant.out] = copy.out
        block.add_op(copy)
    for op in ops:
        op.detach()
        block.add_op(op)
        for index, value in enumerate(op.operands):
            if value in replaced:
                op.operands[index] = replaced[value]
    return block


def replace_outside(block: Block, outputs: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    """Lets users outside of `block` use `results` in place of `outputs`."""
    for old, new in zip(outputs, results, strict=True):
        new.name_hint = old.name_hint
        for use in [use for use in old.uses if use.operation.parent is not block]:
            use.operation.operands[use.index] = new


def erase_unused(constants: Sequence[ConstantOp]) -> None:
    """Erases the constants that nothing uses any more; the bytes are their copies' now."""
    for constant in constants:
        if not constant.out.uses:
            erase(constant)


def strip(op: Operation, *names: str) -> None:
    """Removes attributes of partitioning: `names`, or else all of them."""
    for name in names or (BACKEND, PATTERN, MATCH, REGION, GIVE, KEEP):
        op.attributes.pop(name, None)


def fused_location(ops: Sequence[Operation]) -> LocationAttr:
    """The place of one op, or the places of several, each once."""
    parts: dict[Attribute, None] = {}
    for op in ops:
        found = op.location
        each = found.locations.data if isinstance(found, FusedLoc) else [found]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - an ArrayAttr
        parts.update((part, None) for part in each if not isinstance(part, UnknownLoc))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if len(parts) < 2:
        return next(iter(parts), UnknownLoc())  # pyright: ignore[reportReturnType] - a location
    return FusedLoc(ArrayAttr(parts), NoneAttr())
