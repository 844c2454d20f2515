"""The text of a nest's operands: `ins(%x[i, j] pad 0, %t[at(0), j]) outs(%y[at(0)])`, with their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.parser import Parser
from xdsl.printer import Printer

from inarch.dialects.loop.access import ReadAttr, WriteAttr, number_of, parse_map, parse_typed
from inarch.ir.index.affine import print_affine_expr
from inarch.ir.numbers import number_text, parse_number

if TYPE_CHECKING:  # it imports us
    from inarch.dialects.loop.nest import NestOp


def parse_accesses(
    parser: Parser, names: Sequence[str]
) -> tuple[list[SSAValue], list[ReadAttr], list[SSAValue], list[WriteAttr]]:
    """`ins(...) outs(...)` over iterators of these names: what is read and how, what is written and how."""
    ins: list[SSAValue] = []
    reads: list[ReadAttr] = []
    outs: list[SSAValue] = []
    writes: list[WriteAttr] = []

    def parse_in() -> None:
        operand = parser.parse_unresolved_operand()
        index = parse_map(parser, names)
        pad = parse_number(parser) if parser.parse_optional_keyword("pad") else None
        parser.parse_punctuation(":")
        buffer = parser.parse_type()
        ins.append(parser.resolve_operand(operand, buffer))
        reads.append(ReadAttr.get(index, parse_typed(parser, "a pad", pad, buffer)))

    def parse_out() -> None:
        operand = parser.parse_unresolved_operand()
        index = parse_map(parser, names)
        init = parse_number(parser) if parser.parse_optional_keyword("init") else None
        clip = parser.parse_optional_keyword("clip") is not None
        parser.parse_punctuation(":")
        buffer = parser.parse_type()
        outs.append(parser.resolve_operand(operand, buffer))
        start = parse_typed(parser, "an init", init, buffer)
        writes.append(WriteAttr.get(index, start, clip=clip))

    if parser.parse_optional_keyword("ins"):
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_in)
    parser.parse_keyword("outs")
    parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_out)
    return ins, reads, outs, writes


def print_accesses(printer: Printer, nest: NestOp) -> None:
    """What `parse_accesses` parses."""
    names = nest.names

    def print_in(value: SSAValue, read: ReadAttr) -> None:
        _print_access(printer, value, read.map.data, names)
        if (pad := number_of(read.pad)) is not None:
            printer.print_string(f" pad {number_text(pad)}")
        printer.print_string(" : ")
        printer.print_attribute(value.type)

    def print_out(value: SSAValue, write: WriteAttr) -> None:
        _print_access(printer, value, write.map.data, names)
        if (init := number_of(write.init)) is not None:
            printer.print_string(f" init {number_text(init)}")
        printer.print_string(" clip : " if write.clips else " : ")
        printer.print_attribute(value.type)

    if nest.ins:
        printer.print_string(" ins(")
        printer.print_list([*zip(nest.ins, nest.reads, strict=True)], lambda one: print_in(*one))
        printer.print_string(")")
    printer.print_string(" outs(")
    printer.print_list([*zip(nest.outs, nest.writes, strict=True)], lambda one: print_out(*one))
    printer.print_string(")")


def _print_access(
    printer: Printer, value: SSAValue, index: AffineMap, names: Sequence[str]
) -> None:
    printer.print_ssa_value(value)
    exprs = ", ".join(print_affine_expr(expr, names) for expr in index.results)
    printer.print_string(f"[{exprs}]")
