"""Erasing what nobody uses, and the bytes of constants that nobody refers to any more."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseResourceAttr
from xdsl.ir import Operation

from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.op import GraphOp
from inarch.ir.context import ConstantStore
from inarch.ir.edit import erase
from inarch.ir.report.walk import ops_within


def erase_dead(root: Operation, store: ConstantStore | None = None) -> int:
    """Erases graph ops whose results are unused, users before producers; returns how many.

    Calls stay: a foreign function may have effects. With `store`, drops the bytes that only erased
    constants referred to.
    """
    erased = 0
    candidates: set[str] = set()
    for op in reversed(list(ops_within(root))):
        if not isinstance(op, GraphOp) or isinstance(op, CallOp):
            continue
        if any(result.uses for result in op.results):
            continue
        candidates |= _handles(op)
        erase(op)
        erased += 1
    if store is not None and candidates:
        kept = {handle for op in ops_within(root) for handle in _handles(op)}
        for handle in candidates - kept:
            store.drop(handle)
    return erased


def _handles(op: Operation) -> set[str]:
    """The keys of the constants that an op refers to."""
    value = op.properties.get("value")
    return {value.resource_handle.data} if isinstance(value, DenseResourceAttr) else set()
