"""An assembly-format directive for a float property that may be infinite or NaN."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FloatAttr
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

from inarch.ir.numbers import number_text, parse_number


@irdl_custom_directive
class Number(CustomDirective):
    """`custom<Number>($value)`: an `f64` property as `0.5`, `inf`, `-inf` or `nan`.

    xDSL prints an infinity as hexadecimal digits, which its parser then refuses without a type.
    """

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, FloatAttr(float(parse_number(parser)), 64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        attribute = cast("FloatAttr", self.value.get(op))
        printer.print_string(number_text(attribute.value.data))
        state.last_was_punctuation = False
        state.should_emit_space = True
