"""Ops as a program of their own: copies, with the constants that they use."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from inarch.ir.target import MACHINE, TARGET, THREADS
from inarch.offload.instance import INSTANCES
from inarch.passes.partition.cut.rewrite import interface_of

_KEPT = (TARGET, MACHINE, THREADS, INSTANCES)
"""What the program says of itself, and is said of a part, too."""


def alone(module: ModuleOp, ops: Sequence[Operation]) -> ModuleOp:
    """A program of copies of `ops` (in program order): `@main` takes what they take, and gives what leaves.

    The bytes of constants stay in the store of `module`'s context.
    """
    interface = interface_of(ops, bind_constants=True)
    function = FuncOp(
        "main",
        ([value.type for value in interface.inputs], [value.type for value in interface.outputs]),
    )
    block = function.body.block
    copies: dict[SSAValue, SSAValue] = dict(zip(interface.inputs, block.args, strict=True))
    for op in (*interface.constants, *ops):
        copy = op.clone(value_mapper=copies)
        copy.location = op.location
        block.add_op(copy)
    block.add_op(ReturnOp(*(copies[value] for value in interface.outputs)))
    kept = {name: module.attributes[name] for name in _KEPT if name in module.attributes}
    return ModuleOp([function], attributes=kept)
