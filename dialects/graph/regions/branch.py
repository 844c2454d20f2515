"""`graph.if`: one of two bodies, by a condition that is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import operand_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from inarch.dialects.graph.op import Array, GraphOp, Tensor, element_of, shape_of, tensor_of
from inarch.dialects.graph.regions.body import (
    check_arguments,
    check_ops,
    check_values,
    no_reference,
    types_text,
    yielded,
)
from inarch.dialects.graph.regions.text import parse_group, parse_rest, print_group, print_rest
from inarch.ir.op import op_definition
from inarch.ir.require import require


@op_definition
class IfOp(GraphOp):
    """`outs = then(inputs) if condition else otherwise(inputs)`: the body that is not taken does not run.

    C1: the condition is an i1 of shape (). C2: the arguments of both bodies have the types of the inputs.
    C3: a body is one block of graph ops that ends in `graph.yield`. C4: both yield values of the same types,
    one or more. C5: the bodies use no value from outside.
    """

    MOVES: ClassVar[bool] = True
    condition = operand_def(TensorType)
    inputs = var_operand_def(TensorType)
    outs = var_result_def(TensorType)
    then = region_def("single_block")
    otherwise = region_def("single_block")
    traits = traits_def(Pure())

    def __init__(
        self, condition: SSAValue, inputs: Sequence[SSAValue], then: Region, otherwise: Region
    ) -> None:
        """Result types are those that `then` yields."""
        super().__init__(
            operands=[condition, list(inputs)],
            regions=[then, otherwise],
            result_types=[[value.type for value in yielded(then.block)]],
        )

    @property
    def bodies(self) -> tuple[Block, Block]:
        """Of the condition that holds, and of the other one."""
        return self.then.block, self.otherwise.block

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_unresolved_operand()
        start = parser.pos
        return parse_rest(cls, parser, [condition, *parse_group(parser)], start, bodies=2)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        print_group(printer, self.inputs)
        print_rest(printer, self)

    def check(self) -> None:
        fits = shape_of(self.condition) == () and element_of(self.condition) == i1
        require(fits, "C1", "expected a condition tensor<i1>, found {}", self.condition.type)
        for block in self.bodies:
            check_arguments(block, list(self.inputs.types), "C2")
            check_ops(block, "C3")
            check_values(block, "C5", "give it to the op")
        kinds, others = ([value.type for value in yielded(block)] for block in self.bodies)
        require(
            len(kinds) > 0 and kinds == others,
            "C4",
            "expected bodies that yield the same types, one or more, found ({}) and ({})",
            types_text(kinds),
            types_text(others),
        )

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(value) for value in yielded(self.then.block)]

    def verify_(self) -> None:
        count, found = len(yielded(self.then.block)), len(self.outs)
        same = count == found
        require(same, "C0", f"expected as many results as are yielded, {count}, found {found}")
        super().verify_()

    def reference(self, *operands: Array) -> Array | tuple[Array, ...]:
        raise no_reference(self, operands)

    def run(
        self,
        operands: Sequence[Array],
        body: Callable[[Block, Sequence[Array]], Sequence[Array]],
    ) -> Sequence[Array]:
        """The results on `operands`, where `body` gives what a block yields on its arguments."""
        condition, *inputs = operands
        return body(self.bodies[0 if bool(condition) else 1], inputs)
