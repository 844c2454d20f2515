"""Calls of functions on buffers become the ops of those functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from inarch.dialects.loop.buffer import ConstantOp
from inarch.dialects.loop.control import CallOp
from inarch.ir.functions import functions
from inarch.ir.location import moved_by


def inline_functions(module: ModuleOp, mark: str) -> None:
    """Replaces calls of the functions that have an attribute by their ops, and erases the functions.

    Constants go to the start of the function around: they are the same at each turn of a loop. Scratch is new
    for each call.
    """
    every = functions(module)
    marked = {each.sym_name.data: each for each in every if mark in each.attributes}
    if not marked:
        return
    inliner = _Inliner(marked)
    for function in every:
        inliner.expand(function)
    for function in marked.values():
        function.detach()
        function.erase()


@dataclass
class _Inliner:
    marked: Mapping[str, FuncOp]
    done: set[FuncOp] = field(default_factory=set[FuncOp])

    def expand(self, function: FuncOp) -> None:
        """Leaves no call of one that is marked in `function`; those of callees are expanded first."""
        if function in self.done or function.is_declaration:
            return
        self.done.add(function)
        for call in [op for op in function.walk() if isinstance(op, CallOp)]:
            callee = self.marked.get(call.callee.root_reference.data)
            if callee is not None:
                self.expand(callee)
                _inline(call, callee, function)


def _inline(call: CallOp, callee: FuncOp, function: FuncOp) -> None:
    block, head = callee.body.block, function.body.block.first_op
    assert call.parent is not None
    assert head is not None, "the call is in it"
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    moved = moved_by(call, callee)
    for op in block.ops:
        if isinstance(op, ReturnOp):
            break
        copy = op.clone(values)
        for old, new in zip(op.walk(), copy.walk(), strict=True):
            new.location = moved(old.location)
        if isinstance(copy, ConstantOp):
            function.body.block.insert_op_before(copy, head)
        else:
            call.parent.insert_op_before(copy, call)
    call.detach()
    call.erase()
