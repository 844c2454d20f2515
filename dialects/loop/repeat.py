"""`loop.while`: a loop whose bounds, step and condition are computed."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i1
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import operand_def, opt_operand_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, RecursiveMemoryEffect

from inarch.dialects.loop.memory import BufferOp, memref_of
from inarch.dialects.loop.nest import check_end
from inarch.ir.op import op_definition
from inarch.ir.require import require


@op_definition
class WhileOp(BufferOp):
    """`loop.while %i = %lower to %upper step %step if %go : memref<i1> { ... }`: a loop of computed length.

        for (i = lower; step > 0 && i < upper && go[]; i += step) { ... }

    A step that is not known before may be 0 or less: then there is no iteration. TripCounts run in order;
    none is begun for an `i` that 64 bits do not hold. The condition is read before each iteration: what the
    loop carries, and it, lies in buffers from outside, which an iteration changes in place. Without one, the
    bounds decide. As nothing is known of `i`, what a body accesses at it is not checked: a loop that counts
    known numbers is a `loop.for`.
    C0: buffers are static. C1: a step that is a constant is > 0. C2: the region has one argument of type
    index, and yields nothing. C3: the condition is an element: a memref<i1>, also a view.
    """

    lower = operand_def(IndexType)
    upper = operand_def(IndexType)
    step = operand_def(IndexType)
    condition = opt_operand_def(MemRefType)
    body = region_def("single_block")
    traits = traits_def(MemoryReadEffect(), RecursiveMemoryEffect())

    def __init__(
        self,
        lower: SSAValue,
        upper: SSAValue,
        step: SSAValue,
        condition: SSAValue | None,
        body: Region,
    ) -> None:
        super().__init__(
            operands=[lower, upper, step, [] if condition is None else [condition]], regions=[body]
        )

    @property
    def induction(self) -> SSAValue:
        """The loop's index."""
        return self.body.block.args[0]

    @property
    def known_step(self) -> int | None:
        """The step, where it is a constant."""
        owner = self.step.owner
        value = owner.value if isinstance(owner, ConstantOp) else None
        return value.value.data if isinstance(value, IntegerAttr) else None

    def verify_(self) -> None:
        self.check_buffers()
        step = self.known_step
        require(step is None or step > 0, "C1", f"expected a step > 0, found {step}")
        types = [argument.type for argument in self.body.block.args]
        require(types == [IndexType()], "C2", "expected a region with one argument of type index")
        check_end(self.body)
        if self.condition is not None:
            kind = memref_of(self.condition)
            fits = kind.element_type == i1 and kind.get_num_dims() == 0
            require(fits, "C3", "expected a condition memref<i1>, found {}", kind)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        induction = parser.parse_argument(expect_type=False)
        operands: list[SSAValue] = []
        for word in ("=", "to", "step"):
            if word == "=":
                parser.parse_punctuation("=")
            else:
                parser.parse_keyword(word)
            operands.append(parser.resolve_operand(parser.parse_unresolved_operand(), IndexType()))
        condition = None
        if parser.parse_optional_keyword("if"):
            unresolved = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            condition = parser.resolve_operand(unresolved, parser.parse_type())
        body = parser.parse_region([induction.resolve(IndexType())])
        op = cls(operands[0], operands[1], operands[2], condition, body)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.induction)
        for word, value in zip(
            ("=", "to", "step"), (self.lower, self.upper, self.step), strict=True
        ):
            printer.print_string(f" {word} ")
            printer.print_ssa_value(value)
        if self.condition is not None:
            printer.print_string(" if ")
            printer.print_ssa_value(self.condition)
            printer.print_string(" : ")
            printer.print_attribute(self.condition.type)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        if self.attributes:
            printer.print_op_attributes(self.attributes)


def empty_while(
    lower: SSAValue, upper: SSAValue, step: SSAValue, condition: SSAValue | None
) -> WhileOp:
    """A `loop.while` whose body is empty, to be filled and ended with `loop.yield`."""
    return WhileOp(lower, upper, step, condition, Region(Block(arg_types=[IndexType()])))
