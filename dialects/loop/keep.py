"""Schedules of their authors: a nest that is marked stays as it is written.

The unit attribute `inarch.keep` on a `loop.nest`, or on the function or the module around it, says so: no
pass splits, reorders, fuses or replaces the nest, and no microkernel takes it. It is emitted by the emission
rule of nests, as its iterators and modes are written. On a `loop.for` it says so of that loop alone: whether
threads share it is its author's; the nests in it are scheduled as others are.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.core.errors import InarchError
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.nest import NestOp, nest_ops
from inarch.ir.location import location_text

KEEP = "inarch.keep"


def is_kept(found: Operation) -> bool:
    """Whether the schedule of a nest or a loop is its author's."""
    op: Operation | None = found
    while op is not None:
        if KEEP in op.attributes and (op is found or not isinstance(op, ForOp)):
            return True
        op = op.parent_op()
    return False


def free_nests(op: Operation) -> list[NestOp]:
    """Every nest within `op` that a pass may change, in program order."""
    return [nest for nest in nest_ops(op) if not is_kept(nest)]


def check_marks(module: ModuleOp) -> None:
    """Raises InarchError for a mark that nothing would obey."""
    for op in module.walk():
        mark = op.attributes.get(KEEP)
        if mark is None:
            continue
        if not isinstance(op, NestOp | ForOp | FuncOp | ModuleOp):
            found = (
                f"expected {KEEP} on a loop.nest, a loop.for, a function or a module, found it on "
                f"'{op.name}'"
            )
            raise InarchError(found, where=location_text(op))
        if not isinstance(mark, UnitAttr):
            found = f"expected {KEEP} without a value, found {mark}"
            raise InarchError(found, where=location_text(op))
