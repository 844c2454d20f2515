"""What forbids to change explicit loops: two accesses in two iterations, as C4 of `loop.for` finds them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.dependence.check import check_independent


def symbols_of(module: ModuleOp) -> dict[str, Operation]:
    """What calls name."""
    found: dict[str, Operation] = {}
    for op in module.body.ops:
        name = op.properties.get("sym_name")
        if isinstance(name, StringAttr):
            found[name.data] = op
    return found


def carried_by(loop: ForOp, symbols: Mapping[str, Operation]) -> str | None:
    """`a write of %y[%i + 1] where %i = 0 and a read of %y[%i] where %i = 1, of one element`, or None."""
    try:
        check_independent(loop, symbols)
    except VerifyException as error:
        return str(error).partition("found ")[2].rpartition("; make")[0]
    return None
