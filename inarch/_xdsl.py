"""The only place that touches private or volatile xDSL API, so that an xDSL release touches one file.

Contexts with a store of constants, a parser that locates every op, verification in linear time with
one-line errors, and a rewrite driver with a limit. `docs/architecture.md` says why xDSL's own are not
enough in each case.
"""

from __future__ import annotations

import math
import re
import struct
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    Builtin,
    CallSiteLoc,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NameLoc,
    NoneAttr,
    RankedStructure,
    StringAttr,
    SymbolRefAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, OpResult, SSAValue, TypeAttribute
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
)
from xdsl.irdl.dominance import DominanceInfo
from xdsl.parser import AttrParser, Parser, ParserState, UnresolvedOperand
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from inarch.errors import InarchError, InternalError
from inarch.limits import CONSTANT_BYTES, DEPTH, INTEGER_BITS

__all__ = [
    "ConstantStore",
    "SymbolUser",
    "apply_patterns",
    "linear_form",
    "location_text",
    "make_context",
    "named_location",
    "parse_affine_expr",
    "parse_module",
    "print_affine_expr",
    "print_module",
    "store_of",
    "verify_module",
    "verify_symbol_user",
]


# ------------------------------------------------------------------------------------ constants


class ConstantStore(OpAsmDialectInterface):
    """The bytes behind `dense_resource<key>` handles: one store a context, payloads never printed.

    xDSL's own store is one global of hex strings that renames keys on a second parse.
    """

    def __init__(self) -> None:
        super().__init__()
        self._data: dict[str, memoryview] = {}

    def put(self, name: str, data: bytes | memoryview) -> str:
        """Stores `data` under a key made of `name`; returns the key.

        Characters that MLIR cannot write become `_`; a number is appended to a key that is taken.
        """
        stem = re.sub(r"[^A-Za-z0-9_$]", "_", name)
        stem = stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"
        key, count = stem, 0
        while key in self._data:
            count += 1
            key = f"{stem}_{count}"
        self._data[key] = memoryview(data).cast("B")
        return key

    def set(self, key: str, data: bytes | memoryview) -> None:
        """Stores `data` under exactly `key`, in place of what was there."""
        self._data[key] = memoryview(data).cast("B")

    def get(self, key: str) -> memoryview:
        """The bytes of `key`. Raises when the text was read without its side file."""
        if key not in self._data:
            raise InarchError(
                f"constant '{key}' has no data: expected it in the store; "
                "read the text with its side file: FILE.npz beside FILE.mlir, or --resources"
            )
        return self._data[key]

    def drop(self, key: str) -> None:
        """Forgets the bytes of `key`; the caller knows that nothing refers to it any more."""
        self._data.pop(key, None)

    def keys(self) -> list[str]:
        """All keys, in order of arrival."""
        return list(self._data)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    # -- xDSL's interface, called by its parser and printer

    def declare_resource(self, key: str) -> str:
        return key

    def parse_resource(self, key: str, val: str) -> None:
        """MLIR's textual form: `0x`, four bytes of alignment, the data; all in hexadecimal."""
        if not val.startswith("0x") or len(val) < 10:
            raise ValueError(
                f"expected a hexadecimal blob for resource '{key}', found {val[:16]!r}"
            )
        self.set(key, bytes.fromhex(val[10:]))

    def lookup(self, key: str) -> str | None:
        return None

    def build_resources(self, keys: Iterable[str]) -> dict[str, str]:
        return {}


def make_context(dialects: Mapping[str, Callable[[], Dialect]]) -> Context:
    """A context with its own constant store that knows `dialects`, each loaded when first met."""
    context = Context()
    builtin = Dialect(
        "builtin", list(Builtin.operations), list(Builtin.attributes), [ConstantStore()]
    )
    context.load_dialect(builtin)
    for name, factory in dialects.items():
        if name != "builtin":
            context.register_dialect(name, factory)
    return context


def store_of(context: Context) -> ConstantStore:
    """The constant store of a context made by `make_context`."""
    builtin = next((d for d in context.loaded_dialects if d.name == "builtin"), None)
    store = builtin.get_interface(OpAsmDialectInterface) if builtin is not None else None
    if not isinstance(store, ConstantStore):
        raise InarchError(
            "this xDSL context has no constant store; make it with inarch.dialects.new_context()"
        )
    return store


# ------------------------------------------------------------------------------------ locations


def named_location(name: str) -> NameLoc:
    """`loc("name")`: where an op came from in a model."""
    return NameLoc(StringAttr(name), NoneAttr())


def location_text(op: Operation) -> str | None:
    """Where `op` came from, as messages print it: `file:line:col`, a model's node name, or None."""
    current: Operation | None = op
    while current is not None:
        if (text := _location(current.location)) is not None:
            return text
        current = current.parent_op()
    return None


def _location(location: Attribute) -> str | None:
    match location:
        case FileLineColLoc():
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        case NameLoc():
            return location.desc.data
        case CallSiteLoc():
            return _location(location.callee)
        case FusedLoc():
            each = cast("ArrayAttr[Attribute]", location.locations)
            parts = [text for part in each if (text := _location(part)) is not None]
            return " + ".join(parts) or None
        case _:
            return None


# ------------------------------------------------------------------------------------ text


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


_F64_BITS = re.compile(r"0[xX][0-9a-fA-F]{16}")


class _BoundedLexer(MLIRLexer):
    """xDSL's lexer, except that no number is longer than what is built from it can be."""

    def lex(self) -> MLIRToken:
        token = super().lex()
        kind = token.kind
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


def _short(text: str) -> str:
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"


class _LocatedParser(Parser):
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

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:  # noqa: A002
        name = operand.operand_name
        if name not in self.ssa_values:
            self._first_uses.setdefault(name, operand.span.start)
        value = super().resolve_operand(operand, type)
        if isinstance(value, ForwardDeclaredValue):
            self._forward[name] = value
        return value

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
            raise InarchError(_first_line(error), where=self.where(start)) from error
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
    parser: _LocatedParser | None = None
    try:
        parser = _LocatedParser(context, text, name, line_offset)
        return parser.parse_module()
    except ParseError as error:
        place = error.span.get_location()
        where = f"{name}:{place.line + line_offset}:{place.col}"
        raise InarchError(error.msg.strip(), where=where) from error
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
    except _ESCAPES as error:
        where = name if parser is None else parser.where()
        detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InarchError(
            f"expected MLIR text; the parser failed with {detail}", where=where
        ) from error


_ESCAPES = (
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


def print_module(module: Operation, *, generic: bool = False, locations: bool = False) -> str:
    """The text of `module`, ending in a newline."""
    stream = StringIO()
    printer = Printer(stream, print_generic_format=generic, print_debuginfo=locations)
    try:
        printer.print_op(module)
    except RecursionError as error:
        raise InarchError("expected less nesting in a program to print") from error
    return stream.getvalue() + "\n"


def parse_affine_expr(parser: Parser, names: Sequence[str]) -> AffineExpr:
    """Parses one affine expression over the iterators `names`: `oh * 2 + kh - 1`."""
    from xdsl.parser.affine_parser import AffineParser

    affine = AffineParser(parser._parser_state)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    optional_id = affine._get_parse_optional_bare_id(list(names), [])  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    start = parser.pos
    expr = affine._parse_affine_expr(optional_id)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    where = parser.where(start) if isinstance(parser, _LocatedParser) else None
    check_affine_depth(expr, where)
    return expr


def check_affine_depth(expr: AffineExpr, where: str | None) -> None:
    """Raises InarchError for an expression of so many terms that what walks it would not return."""
    pending = [(expr, 1)]
    while pending:
        one, depth = pending.pop()
        DEPTH.check(depth, where=where)
        if isinstance(one, AffineBinaryOpExpr):
            pending += [(one.lhs, depth + 1), (one.rhs, depth + 1)]


def print_affine_expr(expr: AffineExpr, names: Sequence[str]) -> str:
    """An affine expression over the iterators `names`, without redundant parentheses.

    Only linear expressions occur in Inarch's dialects; a term is `name`, `name * c` or `c`.
    """
    coefficients, constant = linear_form(expr, len(names))
    text = ""
    for name, coefficient in zip(names, coefficients, strict=True):
        if coefficient:
            term = name if abs(coefficient) == 1 else f"{name} * {abs(coefficient)}"
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {term}" if text else (f"-{term}" if coefficient < 0 else term)
    if constant or not text:
        text += f" {'-' if constant < 0 else '+'} {abs(constant)}" if text else str(constant)
    return text


def linear_form(expr: AffineExpr, count: int) -> tuple[list[int], int]:
    """`(coefficients, constant)` of a linear expression over `count` dims.

    Raises InarchError when the expression has a div, a mod or a symbol in it.
    """
    coefficients = [0] * count
    constant = _add_terms(expr, 1, coefficients)
    if constant is None:
        raise InarchError(f"expected a linear index expression, found {expr}")
    return coefficients, constant


def _add_terms(expr: AffineExpr, factor: int, coefficients: list[int]) -> int | None:
    """Adds `factor * expr` to `coefficients`; returns its constant, None when it is not linear."""
    match expr:
        case AffineConstantExpr():
            return factor * expr.value
        case AffineDimExpr() if expr.position < len(coefficients):
            coefficients[expr.position] += factor
            return 0
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            left = _add_terms(expr.lhs, factor, coefficients)
            right = _add_terms(expr.rhs, factor, coefficients)
            return None if left is None or right is None else left + right
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            for side, other in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
                if isinstance(side, AffineConstantExpr):
                    return _add_terms(other, factor * side.value, coefficients)
            return None
        case _:
            return None


# ------------------------------------------------------------------------------------ verification


class SymbolUser(ABC):
    """An op whose meaning depends on the symbols that it names: checked once a module."""

    @abstractmethod
    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        """Raises VerifyException when what a symbol stands for does not fit; all of them exist."""


class Counts(ABC):
    """An op whose region runs once for each number of a static range: its first argument."""

    @abstractmethod
    def counted(self) -> range:
        """The numbers, in order; none when the region never runs."""


_ACCESSES = ("memref.load", "memref.store")
_MAX_TERMS = 1000
"""Ops that an index is followed through: beyond, it is taken for one that is not known."""


def _check_access(op: Any) -> None:
    """Raises VerifyException where an access is outside of its buffer, whatever the inputs are.

    Indices that are linear in constants and in arguments of `Counts` are followed. What is under a
    condition is not: it may never happen.
    """
    counted = _counted(op)
    if counted is None or not all(counted.values()):
        return
    shape: Sequence[int] = op.memref.type.get_shape()
    for axis, (index, size) in enumerate(zip(op.indices, shape, strict=True)):
        form = _linear_index(index, counted, _MAX_TERMS)
        if form is None or size < 0:
            continue
        ends = [(c * counted[v][0], c * counted[v][-1]) for v, c in form.items() if v is not None]
        low, high = (form.get(None, 0) + sum(map(choose, ends)) for choose in (min, max))
        if low < 0 or high >= size:
            wanted = f"an index from 0 to {size - 1}" if size else "no access to a size of 0"
            found = f"{low}" if low == high else f"{low} to {high}"
            raise VerifyException(f"expected {wanted} in dimension {axis}, found {found}")


def _counted(op: Operation) -> dict[SSAValue, range] | None:
    """What the ops around `op` count; None where something else decides whether it runs."""
    found: dict[SSAValue, range] = {}
    inside = op
    while (parent := inside.parent_op()) is not None and parent.name != "func.func":
        if not isinstance(parent, Counts):
            return None
        found[parent.regions[0].blocks[0].args[0]] = parent.counted()
        inside = parent
    blocks = parent.regions[0].blocks if parent is not None else ()
    return found if len(blocks) == 1 else None


def _linear_index(
    value: SSAValue, counted: Mapping[SSAValue, range], terms: int
) -> dict[SSAValue | None, int] | None:
    """Coefficients by what is counted, the constant under None; None where it is not linear."""
    if value in counted:
        return {value: 1}
    owner: Any = value.owner
    if isinstance(owner, Block) or terms < 1:
        return None
    if owner.name == "arith.constant":
        number: Any = owner.value
        return {None: cast("Any", number).value.data} if isinstance(number, IntegerAttr) else None
    if owner.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    left, right = (_linear_index(x, counted, (terms - 1) // 2) for x in owner.operands)
    if left is None or right is None:
        return None
    if owner.name == "arith.muli":
        for one, other in ((left, right), (right, left)):
            if set(one) <= {None}:
                return {key: one.get(None, 0) * factor for key, factor in other.items()}
        return None
    sign = -1 if owner.name == "arith.subi" else 1
    return {key: left.get(key, 0) + sign * right.get(key, 0) for key in (*left, *right)}


def verify_module(module: ModuleOp) -> None:
    """Checks every op, SSA dominance, symbol uses and static accesses in one linear pass.

    xDSL's own `verify` checks no dominance, looks symbols up by linear scan, and attaches the text of
    the whole module to its errors. Raises InarchError at the op's location.
    """
    order = {op: index for index, op in enumerate(module.walk())}
    symbols = _symbols(module)
    dominance: dict[int, DominanceInfo] = {}
    for op in order:
        try:
            _check_terminator(op)
            op.verify_()
            if op.name in _ACCESSES:
                _check_access(op)
        except VerifyException as error:
            raise _at(op, f"'{op.name}' {_first_line(error)}") from error
        except RecursionError as error:
            message = f"'{op.name}' expected less nesting of what it is made of"
            raise _at(op, message) from error
        except _ESCAPES as error:
            if type(op).__module__.startswith("inarch."):
                raise  # a fault of ours
            detail = f"{type(error).__name__}: {_first_line(error)}"
            raise _at(op, f"'{op.name}' is not sound; its check failed with {detail}") from error
        _check_operands(op, order, dominance)
        for name, reference in _symbol_uses(op):
            if reference not in symbols:
                known = ", ".join(f"@{s}" for s in sorted(symbols)) or "none"
                raise _at(
                    op, f"'{op.name}' {name} refers to no symbol @{reference}; known: {known}"
                )
    # Last: the ops that symbols stand for have been verified by now.
    for op in order:
        verify_symbol_user(op, symbols)


def verify_symbol_user(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """`op.verify_symbols`, if it has any, with InarchError at the op's location."""
    if not isinstance(op, SymbolUser):
        return
    try:
        op.verify_symbols(symbols)
    except VerifyException as error:
        raise _at(op, f"'{op.name}' {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _at(op: Operation, message: str) -> InarchError:
    return InarchError(message, where=location_text(op))


def _check_terminator(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if op.has_trait(NoTerminator, value_if_unregistered=True):
                continue
            if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
                found = "an empty block" if last is None else f"'{last.name}'"
                raise VerifyException(f"expected a region that ends in a terminator, found {found}")


def _symbols(module: ModuleOp) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for op in module.body.ops:
        name = op.properties.get("sym_name", op.attributes.get("sym_name"))
        if isinstance(name, StringAttr):
            if name.data in found:
                raise _at(op, f"'{op.name}' redefines symbol @{name.data}")
            found[name.data] = op
    return found


def _symbol_uses(op: Operation) -> Iterator[tuple[str, str]]:
    for table in (op.properties, op.attributes):
        for name, attribute in table.items():
            if isinstance(attribute, SymbolRefAttr):
                yield name, attribute.root_reference.data


def _check_operands(
    op: Operation, order: Mapping[Operation, int], dominance: dict[int, DominanceInfo]
) -> None:
    for index, operand in enumerate(op.operands):
        if not _dominates(operand, op, order, dominance):
            name = operand.name_hint
            which = f"%{name}" if name else f"number {index}"
            raise _at(op, f"'{op.name}' operand {which} is used before it is defined")


def _dominates(
    value: SSAValue,
    user: Operation,
    order: Mapping[Operation, int],
    dominance: dict[int, DominanceInfo],
) -> bool:
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    if home is None or home.parent is None:
        return False
    region = home.parent
    inside: Operation | None = user
    while inside is not None and (inside.parent is None or inside.parent.parent is not region):
        inside = inside.parent_op()
    if inside is None or inside.parent is None:
        return False
    if inside.parent is home:
        if not isinstance(value, OpResult):
            return True
        # `walk` visits an op before those nested in it, so its order within one block is the block's.
        return value.op in order and order[value.op] < order[inside]
    if id(region) not in dominance:
        dominance[id(region)] = DominanceInfo(region)
    return dominance[id(region)].strictly_dominates(home, inside.parent)


# ------------------------------------------------------------------------------------ rewriting


def apply_patterns(
    module: Operation, patterns: Sequence[RewritePattern], *, max_rewrites: int | None = None
) -> int:
    """Applies `patterns` (first match wins) to every op until none matches; returns how many did.

    New ops without a location get the one of the op that was matched. Nothing is folded or erased
    besides what the patterns do. Raises InternalError after `max_rewrites` (default: 100 per op,
    at least 1,000), since two patterns that undo each other would run for ever.
    """
    todo = list(module.walk())
    limit = max_rewrites if max_rewrites is not None else max(1_000, 100 * len(todo))
    done = 0
    changed = True
    while changed:
        changed = False
        gone: set[Operation] = set()
        for op in todo:
            if op in gone or op.parent is None:
                continue
            name = _rewrite_once(op, patterns, gone)
            if name is None:
                continue
            changed = True
            done += 1
            if done > limit:
                raise InternalError(f"{name} still rewrites '{op.name}' after {limit} rewrites")
        if changed:
            todo = list(module.walk())
    return done


def _rewrite_once(
    op: Operation, patterns: Sequence[RewritePattern], gone: set[Operation]
) -> str | None:
    """The name of the pattern that rewrote `op`, if one did."""
    location = op.location
    rewriter = PatternRewriter(op)

    def stamp(new: Operation) -> None:
        if isinstance(new.location, UnknownLoc):
            new.location = location

    def forget(old: Operation) -> None:
        gone.update(old.walk())

    rewriter.operation_insertion_handler.append(stamp)
    rewriter.operation_removal_handler.append(forget)
    for pattern in patterns:
        pattern.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            return type(pattern).__name__
    return None
