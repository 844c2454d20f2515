"""Calls of functions on buffers become the ops of those functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from inarch.dialects.loop.buffer import ConstantOp
from inarch.dialects.loop.control import CallOp
from inarch.ir.edit import erase
from inarch.ir.functions import functions
from inarch.ir.location import moved_by


def inline_functions(module: ModuleOp, mark: str) -> None:
    """Replaces calls of the functions that have an attribute by their ops, and erases the functions.

    Constants go to the start of the function around: they are the same at each iteration of a loop. Scratch
    is new for each call.
    """
    every = functions(module)
    marked = {each.sym_name.data: each for each in every if mark in each.attributes}
    if not marked:
        return
    calls = Counter(_callee(op) for op in module.walk() if isinstance(op, CallOp))
    inliner = _Inliner(marked, calls)
    for function in every:
        inliner.expand(function)
    erase(*marked.values())


@dataclass
class _Inliner:
    marked: Mapping[str, FuncOp]
    calls: Mapping[str, int]
    done: set[FuncOp] = field(default_factory=set[FuncOp])

    def expand(self, function: FuncOp) -> None:
        """Leaves no call of one that is marked in `function`; those of callees are expanded first."""
        if function in self.done or function.is_declaration:
            return
        self.done.add(function)
        for call in [op for op in function.walk() if isinstance(op, CallOp)]:
            callee = self.marked.get(_callee(call))
            if callee is not None:
                self.expand(callee)
                _inline(call, callee, function, is_last=self.calls[_callee(call)] == 1)


def _callee(call: CallOp) -> str:
    return call.callee.root_reference.data


def _inline(call: CallOp, callee: FuncOp, function: FuncOp, *, is_last: bool) -> None:
    """`is_last`: nobody else calls it, its ops move: bodies in bodies would be copied at each level."""
    block, head = callee.body.block, function.body.block.first_op
    assert call.parent is not None
    assert head is not None, "the call is in it"
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    moved = moved_by(call, callee)
    if is_last:
        for argument, value in values.items():
            for use in list(argument.uses):
                use.operation.operands[use.index] = value
    for op in list(block.ops):
        if isinstance(op, ReturnOp):
            break
        copy = op if is_last else op.clone(values)
        for old, new in zip(op.walk(), copy.walk(), strict=True):
            new.location = moved(old.location)
        if is_last:
            op.detach()
        if isinstance(copy, ConstantOp):
            function.body.block.insert_op_before(copy, head)
        else:
            call.parent.insert_op_before(copy, call)
    erase(call)
