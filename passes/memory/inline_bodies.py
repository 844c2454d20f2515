"""Puts the functions that are bodies of loops into their loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from inarch.dialects.loop.buffer import ConstantOp
from inarch.dialects.loop.control import CallOp
from inarch.ir.functions import BODY, functions
from inarch.ir.location import copy_locations


@dataclass(frozen=True)
class InlineBodiesPass(ModulePass):
    """Replaces each call of a private function with the attribute `inarch.body` by the function's ops.

    What the passes before have made of it: nests, copies, calls of microkernels, and scratch, which is new at
    each turn. Constants go to the start of the function around, as they are the same at each turn. The
    functions disappear.
    """

    name = "inline-bodies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        every = functions(op)
        bodies = {each.sym_name.data: each for each in every if BODY in each.attributes}
        inliner = _Inliner(bodies)
        for function in every:
            inliner.expand(function)
        for body in bodies.values():
            body.detach()
            body.erase()


PASS = InlineBodiesPass


@dataclass
class _Inliner:
    bodies: dict[str, FuncOp]
    done: set[FuncOp] = field(default_factory=set[FuncOp])

    def expand(self, function: FuncOp) -> None:
        """Leaves no call of a body in `function`; those of bodies are expanded first."""
        if function in self.done or function.is_declaration:
            return
        self.done.add(function)
        for call in [op for op in function.walk() if isinstance(op, CallOp)]:
            body = self.bodies.get(call.callee.root_reference.data)
            if body is not None:
                self.expand(body)
                _inline(call, body, function)


def _inline(call: CallOp, body: FuncOp, function: FuncOp) -> None:
    block, head = body.body.block, function.body.block.first_op
    assert call.parent is not None
    assert head is not None, "the call is in it"
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    for op in block.ops:
        if isinstance(op, ReturnOp):
            break
        copy = op.clone(values)
        copy_locations(op, copy)
        if isinstance(copy, ConstantOp):
            function.body.block.insert_op_before(copy, head)
        else:
            call.parent.insert_op_before(copy, call)
    call.detach()
    call.erase()
