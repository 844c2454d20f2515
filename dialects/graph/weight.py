"""An estimate of the number of operations that lowering a graph op makes, and so of its compile time."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.graph.constant import ConstantOp


def weight(op: Operation) -> int:
    """Operations that `op` counts as: one of many operands as many; 0 of constants."""
    if isinstance(op, ConstantOp) or not op.name.startswith("graph."):
        return 0
    return max(1, len(op.operands) - 1)
