"""A pass with a plausible fault: it takes a sum for a difference."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.dialects.graph.elementwise.arithmetic import AddOp, SubOp


@dataclass(frozen=True)
class SubForAddPass(ModulePass):
    """Rewrites a + b to a - b."""

    name = "sub-for-add"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, AddOp):
                made = SubOp.make(*each.operands, location=each.location)
                assert each.parent is not None
                each.parent.insert_op_before(made, each)
                each.results[0].replace_all_uses_with(made.results[0])
                each.detach()
                each.erase()


PASS = SubForAddPass
