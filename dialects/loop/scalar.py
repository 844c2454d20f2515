"""`loop.remf`, the one scalar operation that `arith` of xDSL lacks."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from inarch.ir.op import op_definition


@op_definition
class RemfOp(IRDLOperation):
    """`out = a - trunc(a / b) * b`, exact, with the sign of `a`: `fmod` of C (C11 7.12.10.1).

    NaN when `a` is infinite or `b` is zero. What MLIR calls `arith.remf`.
    """

    name = "loop.remf"
    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    a = operand_def(T)
    b = operand_def(T)
    out = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$a `,` $b attr-dict `:` type($out)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[a.type])
