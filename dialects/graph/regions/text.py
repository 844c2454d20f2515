"""The text of ops with bodies: `(%a, %b) ... attributes {...} : (types) -> (types) {` and the bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

Op = TypeVar("Op", bound=IRDLOperation)


def parse_group(parser: Parser) -> list[UnresolvedOperand]:
    """`(%a, %b)`."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_unresolved_operand
    )


def print_group(printer: Printer, values: Iterable[SSAValue], name: str = "") -> None:
    """`(%a, %b)`, after the name of the group, if it has one."""
    printer.print_string(f" {name}(" if name else "(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(")")


def parse_rest(
    kind: type[Op],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    start: int,
    properties: Mapping[str, Attribute] | None = None,
    *,
    bodies: int = 1,
) -> Op:
    """The op, of the operands whose text began at `start`: its attributes, its type and its bodies."""
    attributes = parser.parse_optional_attr_dict_with_keyword()
    parser.parse_punctuation(":")
    signature = parser.parse_function_type()
    resolved = parser.resolve_operands(operands, signature.inputs.data, start)
    regions = [parser.parse_region()]
    for _ in range(bodies - 1):
        parser.parse_keyword("else")
        regions.append(parser.parse_region())
    return kind.create(
        operands=resolved,
        result_types=signature.outputs.data,
        properties=dict(properties or {}),
        attributes=dict((attributes or DictionaryAttr({})).data),
        regions=regions,
    )


def print_rest(printer: Printer, op: IRDLOperation, *, lone_result: bool = False) -> None:
    """What `parse_rest` parses; with `lone_result`, the type of one result without parentheses."""
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" : (")
    printer.print_list([value.type for value in op.operands], printer.print_attribute)
    bare = lone_result and len(op.results) == 1
    printer.print_string(") -> " if bare else ") -> (")
    printer.print_list([value.type for value in op.results], printer.print_attribute)
    printer.print_string(" " if bare else ") ")
    for number, region in enumerate(op.regions):
        if number:
            printer.print_string(" else ")
        printer.print_region(region)
