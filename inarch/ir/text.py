"""Programs as text: a parser that locates every op and bounds what it reads, and a printer."""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_right
from collections.abc import Sequence
from difflib import get_close_matches
from io import StringIO
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    ModuleOp,
    RankedStructure,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, AttributeInvT, Operation, SSAValue, TypeAttribute
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
)
from xdsl.parser import AttrParser, Parser, ParserState, UnresolvedOperand
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from inarch.core.errors import InarchError, reason
from inarch.core.limits import CONSTANT_BYTES, DEPTH, INTEGER_BITS
from inarch.ir.names import is_hint


class _Bits(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    """An element of a dense constant in hexadecimal."""

    def to_type(
        self,
        parser: AttrParser,
        type: AnyFloat | IntegerType | IndexType | ComplexType[Any],  # noqa: A002
    ) -> Any:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        value, size = self.to_int(parser, allow_negative=False), type.compile_time_size
        if value >> 8 * size:
            parser.raise_error(f"expected at most {2 * size} hexadecimal digits", self.span)
        return type.unpack(value.to_bytes(size, "little"), 1)[0]


ESCAPES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What malformed literals make xDSL's parser raise: plain Python exceptions."""

_F64_BITS = re.compile(r"0[xX][0-9a-fA-F]{16}")


class _BoundedLexer(MLIRLexer):
    """xDSL's lexer, except that no number is longer than what is built from it can be, and that text is text.

    Letters that are no ASCII are printed by their bytes, which xDSL does not read as a string.
    """

    def lex(self) -> MLIRToken:
        token = super().lex()
        kind = token.kind
        if kind is MLIRTokenKind.BYTES_LIT and _is_text(token.span):
            return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)
        if kind is MLIRTokenKind.INTEGER_LIT and not _is_below(token.text, 1 << INTEGER_BITS):
            message = (
                f"expected an integer of at most {INTEGER_BITS} bits, found {_short(token.text)}"
            )
            raise ParseError(token.span, message)
        if kind is MLIRTokenKind.FLOAT_LIT and len(token.text) > _MAX_DIGITS:
            message = (
                f"expected a number of at most {_MAX_DIGITS} characters, found {_short(token.text)}"
            )
            raise ParseError(token.span, message)
        return token


_MAX_DIGITS = 1100
"""Of a float: the longest exact decimal of a double has 1077 characters."""


def _is_below(text: str, limit: int) -> bool:
    """Whether the number `text` is below `limit`; by its length first, as reading is not linear."""
    digits = text[2:].lstrip("0") if text[:2] in ("0x", "0X") else text.lstrip("0")
    return len(digits) <= 20 and int(digits or "0", 16 if text[:2] in ("0x", "0X") else 10) < limit


def _is_text(span: Span) -> bool:
    """Whether a literal holds UTF-8."""
    assert isinstance(span, StringLiteral), "of literals the lexer has made these"
    try:
        span.bytes_contents.decode()
    except UnicodeDecodeError:
        return False
    return True


def _short(text: str) -> str:
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"


class LocatedParser(Parser):
    """xDSL's parser, except that every op gets the `file:line:col` where its text starts."""

    def __init__(self, ctx: Context, text: str, name: str, line_offset: int) -> None:
        super().__init__(ctx, "", name)
        self._resume_from(ParserState(_BoundedLexer(Input(text, name))))
        self._dense_bytes = 0
        self._file = StringAttr(name)
        self._first_line = line_offset
        # Span.get_location counts newlines from the start of the file each time: quadratic.
        self._line_starts = [0, *(i + 1 for i, char in enumerate(text) if char == "\n")]
        self._first_uses: dict[str, int] = {}
        self._forward: dict[str, SSAValue] = {}

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        if self._current_token.kind is MLIRTokenKind.EOF:
            return ModuleOp([])  # as in MLIR, and as the first piece of a split file often is
        try:
            module = super().parse_module(allow_implicit_module)
            self._check_values(module)
            return module
        except ParseError as error:
            # xDSL reports it at the end of the file.
            if "used but not defined" not in error.msg:
                raise
            name = next(iter(self.forward_ssa_references))
            where = self.where(self._first_uses[name])
            raise InarchError(f"value %{name} is used but not defined", where=where) from error

    def _check_values(self, module: ModuleOp) -> None:
        """Whether every use became one of a value: xDSL looks no further than names do.

        A value of a region that is used before that region has a name when the text ends.
        """
        if not self._first_uses:
            return
        for op in module.walk():
            for operand in op.operands:
                if isinstance(operand, ForwardDeclaredValue):
                    known = {id(value): name for name, value in self._forward.items()}
                    name = known[id(operand)]
                    message = (
                        f"value %{name} is used but not defined here; "
                        "one of a region is not known outside"
                    )
                    raise InarchError(message, where=self.where(self._first_uses[name]))

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        match = self._builtin_integer_type_regex.match(token.text)
        if match is not None and not _is_below(match[1], INTEGER_BITS + 1):
            raise ParseError(
                token.span,
                f"expected an integer type of at most {INTEGER_BITS} bits, found {_short(token.text)}",
            )
        return super()._parse_optional_integer_or_float_type()

    def parse_affine_map(self) -> AffineMap:
        start = self._current_token.span.start
        found = super().parse_affine_map()
        for expr in found.results:
            check_affine_depth(expr, self.where(start))
        return found

    def parse_affine_set(self) -> AffineSet:
        start = self._current_token.span.start
        found = super().parse_affine_set()
        for constraint in found.constraints:
            check_affine_depth(constraint.lhs, self.where(start))
            check_affine_depth(constraint.rhs, self.where(start))
        return found

    def parse_dense_int_or_fp_elements_attr(
        self,
        type: RankedStructure[Any] | None,  # noqa: A002
    ) -> DenseIntOrFPElementsAttr:
        if type is not None:
            self._count_elements(type)
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _parse_dense_literal_type(self) -> Any:
        found = super()._parse_dense_literal_type()
        self._count_elements(found)
        return found

    def _count_elements(self, type: RankedStructure[Any]) -> None:  # noqa: A002
        """A splat of few characters has as many elements as its type says; xDSL lists them all."""
        self._dense_bytes += 8 * math.prod(type.get_shape())
        CONSTANT_BYTES.check(self._dense_bytes, where=self.where())

    def resolve_operand(
        self,
        operand: UnresolvedOperand,
        type: AttributeInvT,  # noqa: A002
    ) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        if name not in self.ssa_values:
            self._first_uses.setdefault(name, operand.span.start)
        value = super().resolve_operand(operand, type)
        if isinstance(value, ForwardDeclaredValue):
            self._forward[name] = value
        return value

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        if not is_hint(name):
            for value in values:
                value.name_hint = None

    def where(self, position: int | None = None) -> str:
        """`file:line:col` of a position in the text, or of the token that is being read."""
        place = self._current_token.span.start if position is None else position
        line, column = self._place(place)
        return f"{self._file.data}:{line}:{column}"

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        try:
            op = super().parse_operation()
        except VerifyException as error:  # of an attribute, or of an op that infers its types
            raise InarchError(reason(error), where=self.where(start)) from error
        if isinstance(op.location, UnknownLoc):
            line, column = self._place(start)
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        """A hexadecimal number among floats is their bits, as MLIR (and our printer) has it.

        xDSL reads 0x7f800000 as the number 2139095040, and an infinity would not survive its text.
        """
        found = super()._parse_tensor_literal_element()
        if found.span.text[:2] in ("0x", "0X"):
            return _Bits(found.is_negative, found.value, found.span)
        return found

    def parse_optional_float(self, *, allow_negative: bool = True) -> float | None:
        """An f64 property may stand as its 16 digits: so our printer has 4294967295.0 (see `_Bits`)."""
        token = self._current_token
        if token.kind is MLIRTokenKind.INTEGER_LIT and re.fullmatch(_F64_BITS, token.span.text):
            self._consume_token(MLIRTokenKind.INTEGER_LIT)
            return struct.unpack(">d", bytes.fromhex(token.span.text[2:]))[0]
        return super().parse_optional_float(allow_negative=allow_negative)

    def _place(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, position)
        return line + self._first_line, position - self._line_starts[line - 1] + 1


def parse_module(
    context: Context, text: str, name: str = "<text>", *, line_offset: int = 0
) -> ModuleOp:
    """Parses MLIR text. Raises InarchError at `name:line:col` for the first thing that is wrong.

    `line_offset` is added to line numbers: the text may be a piece of a larger file.
    """
    _check_strings(text, name, line_offset)
    _check_depth(text, name, line_offset)
    parser: LocatedParser | None = None
    try:
        parser = LocatedParser(context, text, name, line_offset)
        return parser.parse_module()
    except ParseError as error:
        place = error.span.get_location()
        where = f"{name}:{place.line + line_offset}:{place.col}"
        raise InarchError(_message(error, context, text), where=where) from error
    except VerifyException as error:
        raise InarchError(str(error), where=name) from error
    except RecursionError as error:
        where = name if parser is None else parser.where()
        raise InarchError("expected less nesting", where=where) from error
    except (OverflowError, struct.error) as error:
        where = name if parser is None else parser.where()
        raise InarchError(
            "expected a number of at most 64 bits before this", where=where
        ) from error
    except ESCAPES as error:
        where = name if parser is None else parser.where()
        detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InarchError(
            f"expected MLIR text; the parser failed with {detail}", where=where
        ) from error


_UNREGISTERED = re.compile(r"Operation (\S+) is not registered")


def _message(error: ParseError, context: Context, text: str) -> str:
    """What the parser says, with the nearest name of an op, and the brace that is open at the end."""
    message = error.msg.strip()
    if found := _UNREGISTERED.fullmatch(message):
        loaded = {dialect.name for dialect in context.loaded_dialects}
        for dialect in set(context.registered_dialect_names) - loaded:
            context.load_registered_dialect(dialect)
        near = get_close_matches(found[1], [op.name for op in context.loaded_ops], n=1)
        return f"{message}; did you mean '{near[0]}'?" if near else message
    if message == "in block definition" and not text[error.span.start :].strip():
        return "expected '}', found the end of the text"
    return message


_STRINGS = re.compile(
    r'//[^\n]*|"(?:[^"\\\n\v\f]+|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*(?P<end>"?)', re.ASCII
)
"""Comments, and strings up to their closing quote or what cannot be in a string."""


def _check_strings(text: str, name: str, line_offset: int) -> None:
    """Raises InarchError at a string that does not end, in linear time.

    xDSL's lexer backtracks in such a string, in time exponential in its length.
    """
    for match in _STRINGS.finditer(text):
        if match["end"] != "":  # a quote; a comment has None
            continue
        start, message = match.start(), "expected a closing quote"
        if text[match.end() : match.end() + 1] == "\\":
            start = match.end()
            message = (
                'expected \\n, \\t, \\", \\\\ or two hexadecimal digits after a \\ in a string'
            )
        line = text.count("\n", 0, start)
        column = start - text.rfind("\n", 0, start)
        raise InarchError(message, where=f"{name}:{line + 1 + line_offset}:{column}")


_BRACKETS = re.compile(r'//[^\n]*|"(?:[^"\\]|\\.)*"|->|[<>]=|[([{<]|[)\]}>]', re.DOTALL)
"""Comments, strings, signs that are no brackets, and brackets; `<` and `>` are some in types."""


def _check_depth(text: str, name: str, line_offset: int) -> None:
    """Raises InarchError at the first bracket that is in too many others.

    Whatever walks the program recurses: what is read must also be printed, compared and copied.
    """
    depth, limit = 0, DEPTH.value
    for match in _BRACKETS.finditer(text):
        bracket = match[0]
        if bracket in _OPENING:
            depth += 1
            if depth > limit:
                start = match.start()
                line = text.count("\n", 0, start)
                column = start - text.rfind("\n", 0, start)
                DEPTH.check(depth, where=f"{name}:{line + 1 + line_offset}:{column}")
        elif bracket in _CLOSING:
            depth = max(0, depth - 1)


_OPENING, _CLOSING = frozenset("([{<"), frozenset(")]}>")


class _Printer(Printer):
    """A function without a body is in generic form where the short one would drop attributes of arguments."""

    def print_op(self, op: Operation) -> None:
        before = self.print_generic_format
        said = op.properties.get("arg_attrs") if op.name == "func.func" else None
        if isinstance(said, ArrayAttr) and not op.regions[0].blocks:
            each = list(cast("ArrayAttr[Attribute]", said))
            self.print_generic_format |= any(one != DictionaryAttr({}) for one in each)
        super().print_op(op)
        self.print_generic_format = before


def print_module(module: Operation, *, generic: bool = False, locations: bool = False) -> str:
    """The text of `module`, ending in a newline."""
    stream = StringIO()
    printer = _Printer(stream, print_generic_format=generic, print_debuginfo=locations)
    try:
        printer.print_op(module)
    except RecursionError as error:
        raise InarchError("expected less nesting in a program to print") from error
    return stream.getvalue() + "\n"


def check_affine_depth(expr: AffineExpr, where: str | None) -> None:
    """Raises InarchError for an expression of so many terms that what walks it would not return."""
    pending = [(expr, 1)]
    while pending:
        one, depth = pending.pop()
        DEPTH.check(depth, where=where)
        if isinstance(one, AffineBinaryOpExpr):
            pending += [(one.lhs, depth + 1), (one.rhs, depth + 1)]
