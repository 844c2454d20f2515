"""A pass that leaves an invalid program: it drops every function's terminator."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class SpoilDemoPass(ModulePass):
    """Erases every func.return."""

    name = "spoil-demo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in list(op.walk()):
            if isinstance(nested, ReturnOp):
                nested.detach()
                nested.erase()


PASS = SpoilDemoPass
