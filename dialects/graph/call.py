"""`graph.call`: a call of another function of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import prop_def, var_operand_def, var_result_def

from inarch.core.errors import UnsupportedError
from inarch.dialects.graph.op import Array, GraphOp, Tensor, tensor_of
from inarch.ir.op import op_definition


@op_definition
class CallOp(GraphOp):
    """`outs = callee(arguments)`: a partitioned function, or an import (one without a body).

    A callee is a function of its arguments alone: calls may be shared, reordered, and left out when
    nothing uses their results. Result types are stated, not inferred. That the callee exists is
    checked once a module (`verify_module`). No constraints but C0.
    """

    MOVES: ClassVar[bool] = True
    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def(TensorType)
    outs = var_result_def(TensorType)
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` type($arguments) `->` type($outs)"

    def __init__(
        self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> None:
        super().__init__(
            operands=[list(arguments)],
            properties={"callee": SymbolRefAttr(callee)},
            result_types=[list(result_types)],
        )

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(result) for result in self.results]

    def reference(self, *operands: Array) -> Array:
        callee = self.callee.string_value()
        raise UnsupportedError(
            f"'{self.name}' of @{callee} with {len(operands)} arguments has no reference; "
            "evaluate the callee's body"
        )
