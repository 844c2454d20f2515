"""Joining the scalar regions of two nests, and their locations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FusedLoc, LocationAttr, NoneAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.dialects.loop.scalar import PointOp
from inarch.ir.index.linear import Linear

MAX_FUSED_LOCATIONS = 4
"""Of these many ops a fused nest names the origin; more would not fit one message."""


@dataclass(frozen=True)
class Move:
    """From a nest into another one, over whose iterators each of the first one's is given."""

    source: NestOp
    target: NestOp
    places: Sequence[Linear]


def inline(
    source: Block, arguments: Sequence[SSAValue], target: Block, move: Move | None = None
) -> list[SSAValue]:
    """Copies the ops of `source`, with `arguments` for its own, to the end of `target`.

    Returns what `source` yields; its terminator is not copied. Without a `move`, `target` is of a nest
    with the iterators that `source` knows.
    """
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, arguments, strict=True))
    for op in source.ops:
        if isinstance(op, YieldOp):
            return [values.get(value, value) for value in op.values]
        copy = op.clone(values)
        if move is not None and isinstance(copy, PointOp):
            copy.move(move.source.names, move.target.names, move.places)
        target.add_op(copy)
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
