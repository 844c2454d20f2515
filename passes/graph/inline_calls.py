"""Puts the bodies of functions where they are called: only what is called from outside has scratch memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from inarch.core.errors import InarchError
from inarch.core.limits import NODES
from inarch.dialects.graph.call import CallOp
from inarch.ir.edit import erase
from inarch.ir.functions import is_private
from inarch.ir.location import location_text
from inarch.ir.passes import Pass


@dataclass(frozen=True)
class InlineCallsPass(Pass):
    """Replaces each `graph.call` of a function on tensors by that function's ops; private ones go.

    Imports, which have no body, and functions of a backend (`compiler`) are called. Raises InarchError for a
    function that calls itself, also through others, and for one that becomes larger than `INARCH_MAX_NODES`.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.body.ops if isinstance(each, FuncOp)]
        inliner = _Inliner({each.sym_name.data: each for each in functions if _is_inlined(each)})
        for function in functions:
            if not function.is_declaration:
                inliner.expand(function)
        erase(*filter(is_private, inliner.callees.values()))


def _is_inlined(function: FuncOp) -> bool:
    if function.is_declaration or "compiler" in function.attributes:
        return False
    types = (*function.function_type.inputs, *function.function_type.outputs)
    return all(isinstance(t, TensorType) for t in types)


@dataclass
class _Inliner:
    callees: dict[str, FuncOp]
    done: set[FuncOp] = field(default_factory=set[FuncOp])
    open: list[FuncOp] = field(default_factory=list[FuncOp])
    """Those that are being expanded, each called by the one before."""

    def expand(self, function: FuncOp) -> None:
        """Leaves no call of a callee in `function`; callees are expanded first."""
        if function in self.done:
            return
        self.open.append(function)
        count = sum(1 for _ in function.walk())
        for call in [op for op in function.walk() if isinstance(op, CallOp)]:
            callee = self.callees.get(call.callee.string_value())
            if callee is None:
                continue
            if callee in self.open:
                raise InarchError(
                    f"expected functions that end, found @{callee.sym_name.data}, which calls itself; "
                    "a loop is unrolled in the program",
                    where=location_text(call),
                )
            self.expand(callee)
            count += len(callee.body.block.ops)
            NODES.check(count, where=location_text(call))
            inline_call(call, callee)
        self.open.pop()
        self.done.add(function)


def inline_call(call: CallOp, callee: FuncOp) -> None:
    """Puts the ops of `callee`, which has a body, in the place of `call`."""
    block, target = callee.body.block, call.parent
    assert target is not None, "it is in a function"
    copies: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    returned: Operation | None = None
    for op in block.ops:
        if isinstance(op, ReturnOp):
            returned = op
            break
        copy = op.clone(copies)
        copy.location = op.location
        target.insert_op_before(copy, call)
    assert returned is not None, "a function ends with a return"
    for result, value in zip(call.outs, returned.operands, strict=True):
        result.replace_all_uses_with(copies.get(value, value))
    erase(call)
