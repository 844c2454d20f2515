"""Inputs that are indices: what their elements may be, so that a call can refuse others."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.shape import ReshapeOp


def indices_of(value: SSAValue) -> tuple[int, int] | None:
    """The least and the most that elements of an input may be; None where it is of no indices.

    ONNX's Gather: "all index values are expected to be within bounds [-s, s-1] along axis of size s".
    """
    if tensor_dtype(value).name not in ("i32", "i64"):
        return None
    sizes = _sizes(value)
    return (-min(sizes), min(sizes) - 1) if sizes else None


def _sizes(value: SSAValue) -> list[int]:
    """Of the axes that the elements of `value`, as they are, are indices of."""
    found: list[int] = []
    for use in value.uses:
        op: Operation = use.operation
        if isinstance(op, GatherOp) and op.indices is value:
            found.append(shape_of(op.data)[op.axis.value.data])
        elif isinstance(op, ReshapeOp) or (
            isinstance(op, CastOp) and tensor_dtype(op.results[0]).name == "i64"
        ):
            found += _sizes(op.results[0])
    return found
