"""Joining the scalar regions of two nests, and their locations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import FusedLoc, LocationAttr, NoneAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from inarch.dialects.loop.nest import YieldOp

MAX_FUSED_LOCATIONS = 4
"""Of these many ops a fused nest names the origin; more would not fit one message."""


def inline(source: Block, arguments: Sequence[SSAValue], target: Block) -> list[SSAValue]:
    """Copies the ops of `source`, with `arguments` for its own, to the end of `target`.

    Returns what `source` yields; its terminator is not copied.
    """
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, arguments, strict=True))
    for op in source.ops:
        if isinstance(op, YieldOp):
            return [values.get(value, value) for value in op.values]
        target.add_op(op.clone(values))
    raise AssertionError("verify_module has seen to it that a region ends in loop.yield")


def end(target: Block, values: Sequence[SSAValue]) -> Block:
    """Ends `target` by yielding `values`."""
    target.add_op(YieldOp(*values))
    return target


def fused_location(first: Operation, second: Operation) -> LocationAttr:
    """Where both ops came from: each origin once, in order, the first few."""
    leaves = dict.fromkeys([*_leaves(first.location), *_leaves(second.location)])
    if not leaves:
        return UnknownLoc()
    if len(leaves) == 1:
        return next(iter(leaves))
    return FusedLoc(tuple(leaves)[:MAX_FUSED_LOCATIONS], NoneAttr())


def _leaves(location: Attribute) -> list[LocationAttr]:
    if isinstance(location, FusedLoc):
        parts = cast("Sequence[Attribute]", location.locations)
        return [leaf for part in parts for leaf in _leaves(part)]
    return [] if isinstance(location, UnknownLoc) else [cast("LocationAttr", location)]
