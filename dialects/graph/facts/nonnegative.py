"""Values that are 0 or more (or NaN) whatever the inputs: a maximum may take zeros in with them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.elementwise.unary import ExpOp, ReluOp, SigmoidOp, SqrtOp
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.dialects.graph.windows.pool import AvgPoolOp, MaxPoolOp


def is_nonnegative(value: SSAValue) -> bool:
    """Whether no element of `value` is less than 0, by the op that makes it."""
    while isinstance(op := value.owner, MaxPoolOp | AvgPoolOp | RelayoutOp):
        value = op.operands[0]
    match value.owner:
        case ReluOp() | SigmoidOp() | ExpOp() | SqrtOp():
            return True
        case ClipOp(low=low) if low is not None:
            return low.value.data >= 0
        case _:
            return False
