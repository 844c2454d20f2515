"""`graph.constant`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.irdl import prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike

from inarch.core.errors import InternalError
from inarch.dialects.graph.op import Array, GraphOp, Tensor
from inarch.ir.op import op_definition
from inarch.ir.payload.constants import ConstantAttr, constant_array, is_constant


@op_definition
class ConstantOp(GraphOp):
    """`out = value`: a tensor known at compile time, inline (`dense`) or a handle into the store.

    The result has the type of `value`. Its array: `inarch.ir.payload.constants.constant_array(value, store)`.
    """

    MOVES: ClassVar[bool] = True
    value = prop_def(DenseIntOrFPElementsAttr | DenseResourceAttr)
    out = result_def(TensorType)
    # pyrefly: ignore[direct-abstract-base-instantiation] - it is xDSL's to be made, and has no abstract method
    traits = traits_def(ConstantLike())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        if not is_constant(value):
            parser.raise_error(f"expected a dense constant, found {value}", start, parser.pos)
        op = cls.make(value=value)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)

    def infer(self) -> Sequence[Tensor]:
        return [cast("Tensor", self.value.type)]

    def reference(self, *operands: Array) -> Array:
        if isinstance(self.value, DenseResourceAttr):
            raise InternalError("a constant handle is read through the store, not its reference")
        from inarch.ir.context import ConstantStore

        return constant_array(cast("ConstantAttr", self.value), ConstantStore())
