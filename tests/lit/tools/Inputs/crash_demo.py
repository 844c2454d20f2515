"""A pass with a bug: it raises what no pass may raise."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class CrashDemoPass(ModulePass):
    """Raises a TypeError; `message` is its text."""

    name = "crash-demo"
    message: str = "unsupported operand"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise TypeError(self.message)


PASS = CrashDemoPass
