"""Ops whose assembly formats are parsed when first used: all 80 take 40 ms, and a small program has five."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.parser import Parser
from xdsl.printer import Printer

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

Op = TypeVar("Op", bound=IRDLOperation)


def op_definition(cls: type[Op]) -> type[Op]:
    """XDSL's `irdl_op_definition`; what is wrong with a format is raised at its first use.

    `parse` and `print` are those that xDSL would make of the class's `assembly_format`; of an op without
    one, and without a `parse` of its own, of what `format_of` of the class makes of its fields. An op that
    says no name is called as its class, in the dialect of its folder: `LessEqualOp` is `graph.less_equal`.
    """
    dialect = cls.__module__.partition("inarch.dialects.")[2].partition(".")[0]
    if dialect and "name" not in vars(cls):
        words = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Op"))
        cls.name = f"{dialect}.{words.lower()}"
    text, format_of = cls.assembly_format, getattr(cls, "format_of", None)
    has_parse = getattr(cls.parse, "__func__", None) is not getattr(
        Operation.parse, "__func__", None
    )
    if text is None and (format_of is None or has_parse):
        return irdl_op_definition(cls)
    cls.assembly_format = None  # or xDSL parses it now
    irdl_op_definition(cls)
    definition = cls.get_irdl_definition()
    if text is None and format_of is not None:
        text = format_of(definition)
    cls.assembly_format = definition.assembly_format = text

    @cache
    def program() -> FormatProgram:
        from xdsl.irdl.declarative_assembly_format import FormatProgram

        return FormatProgram.from_str(text or "", definition)

    @classmethod  # pyrefly: ignore[invalid-decorator] - of the class that gets it below
    def parse(cls: type[Op], parser: Parser) -> Op:
        return program().parse(parser, cls)

    def write(self: IRDLOperation, printer: Printer) -> None:
        program().print(printer, self)

    cls.parse = parse  # pyrefly: ignore[bad-assignment] - a class method, once it is of the class
    cls.print = write
    return cls
