"""An assembly-format directive for a number that may be infinite, NaN, or any integer of 64 bits."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, Signedness, i64
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from inarch.ir.numbers import number_text, parse_number
from inarch.ir.types import f64

ui64 = IntegerType(64, Signedness.UNSIGNED)

NUMBER = FloatAttr.constr(f64) | IntegerAttr.constr(i64) | IntegerAttr.constr(ui64)
"""What a property holds that is a number of any dtype."""


def number_property(number: float) -> FloatAttr | IntegerAttr:
    """A float as an f64, an integer as one of 64 bits, unsigned where it is too large for a signed one.

    Raises VerifyException for an integer that no dtype has.
    """
    if not isinstance(number, int):
        return FloatAttr(number, 64)
    if not -(1 << 63) <= number < 1 << 64:
        raise VerifyException(f"expected an integer of at most 64 bits, found {number}")
    return IntegerAttr(number, i64 if number < 1 << 63 else ui64)


@irdl_custom_directive
class Number(CustomDirective):
    """`custom<Number>($value)`: a number as `0.5`, `inf`, `-inf`, `nan` (an f64), or `7` (`number_property`).

    xDSL prints an infinity as hexadecimal digits, which its parser then refuses without a type.
    """

    value: AttributeVariable

    def is_anchorable(self) -> bool:
        return True

    def is_present(self, op: IRDLOperation) -> bool:
        return self.value.get(op) is not None

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        try:
            self.value.set(state, number_property(parse_number(parser)))
        except VerifyException as error:
            parser.raise_error(str(error), position, parser.pos)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        attribute = cast("FloatAttr | IntegerAttr", self.value.get(op))
        printer.print_string(number_text(attribute.value.data))
        state.last_was_punctuation = False
        state.should_emit_space = True
