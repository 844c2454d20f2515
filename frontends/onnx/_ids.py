"""Inputs that are indices: what their elements may be, so that a call can refuse others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.places.scatter import ScatterElementsOp, ScatterNdOp
from inarch.dialects.graph.shape import ReshapeOp

Sizes = tuple[int, ...]
"""Of the dimensions that elements are indices of, in turn: one for all, or one for each in a row."""


def indices_of(
    value: SSAValue, converted: Mapping[SSAValue, Sequence[Sizes]]
) -> Sequence[int] | None:
    """The least and the most that elements of an input may be, as `inarch.indices`; None: of no indices.

    `converted` has uses that no op shows. ONNX's Gather: "all index values are expected to be within bounds
    [-s, s-1] along axis of size s"; so of GatherElements, GatherND and Scatter.
    """
    if tensor_dtype(value).name not in ("i32", "i64"):
        return None
    uses = _sizes(value, converted)
    if not uses:
        return None
    turns = math.lcm(*map(len, uses))
    least = [min(sizes[at % len(sizes)] for sizes in uses) for at in range(turns)]
    alike = least[:1] if len(set(least)) == 1 else least
    return [bound for size in alike for bound in (-size, size - 1)]


def _sizes(value: SSAValue, converted: Mapping[SSAValue, Sequence[Sizes]]) -> list[Sizes]:
    """Of each use of the elements of `value`, as they are, as indices."""
    found = list(converted.get(value, ()))
    for use in value.uses:
        op: Operation = use.operation
        if isinstance(op, GatherOp | ScatterElementsOp) and op.indices is value:
            found.append((shape_of(op.data)[op.axis.value.data],))
        elif isinstance(op, ScatterNdOp) and op.indices is value:
            found.append(shape_of(op.data)[: shape_of(value)[-1]])
        elif isinstance(op, ReshapeOp) or (
            isinstance(op, CastOp) and tensor_dtype(op.results[0]).name == "i64"
        ):
            found += _sizes(op.results[0], converted)
    return found
