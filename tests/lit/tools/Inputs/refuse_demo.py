"""A pass that refuses every program with an add in it, at the add."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from inarch.core.errors import InarchError
from inarch.dialects.graph.elementwise.arithmetic import AddOp
from inarch.ir.location import location_text


@dataclass(frozen=True)
class RefuseDemoPass(ModulePass):
    """Raises at the first add.

    With `xdsl` the error is xDSL's, without a location.
    """

    name = "refuse-demo"
    xdsl: bool = False
    limits: tuple[int, ...] = (1, 2)
    label: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in op.walk():
            if isinstance(nested, AddOp) and self.xdsl:
                raise PassFailedException("no adds, please")
            if isinstance(nested, AddOp):
                raise InarchError("expected no add", where=location_text(nested))


PASS = RefuseDemoPass
