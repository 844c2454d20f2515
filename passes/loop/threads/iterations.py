"""Which functions do a part of a loop: kernels of one op whose iterations threads share."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import is_public


def shared_iterations(function: FuncOp) -> int:
    """How many iterations of its parallel loop threads share; 0 where it has none, or one iteration only.

    Of private functions: the loop is that of its one op, of a nest or a microkernel one of its iterators.
    Parallel loops elsewhere run in order.
    """
    if is_public(function) or function.is_declaration:
        return 0
    ops = [op for op in function.body.block.ops if not isinstance(op, arith.ConstantOp | ReturnOp)]
    iterations = _iterations(ops[0]) if len(ops) == 1 else 0
    return iterations if iterations > 1 else 0


def _iterations(op: Operation) -> int:
    if isinstance(op, ForOp):
        numbers = op.counted() if op.mode.data == "parallel" else None
        return 0 if numbers is None else len(numbers)
    if isinstance(op, NestOp | KernelCallOp):
        return next((each.size.data for each in op.iterators if each.is_shared), 0)
    return 0
