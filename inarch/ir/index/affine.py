"""Index expressions: as text, and as coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from inarch.core.errors import InarchError, unknown
from inarch.ir.text import LocatedParser, check_affine_depth

if TYPE_CHECKING:
    from xdsl.parser.affine_parser import AffineParser


def parse_affine_expr(parser: Parser, names: Sequence[str]) -> AffineExpr:
    """Parses one affine expression over the iterators `names`: `oh * 2 + kh - 1`."""
    affine = _affine_parser(parser)
    optional_id = affine._get_parse_optional_bare_id(list(names), [])  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    try:
        return _parse_expr(parser, affine, optional_id)
    except ParseError as error:
        if not error.msg.startswith("Identifier not in space"):
            raise
        raise ParseError(error.span, unknown("iterator", error.span.text, names).message) from error


def parse_open_affine_expr(parser: Parser) -> tuple[list[str], AffineExpr]:
    """Parses one affine expression over whatever iterators it names: them, in order, and it over them."""
    from xdsl.utils.mlir_lexer import MLIRTokenKind

    affine = _affine_parser(parser)
    names: list[str] = []

    def optional_id() -> AffineExpr | None:
        token = affine._parse_optional_token(MLIRTokenKind.BARE_IDENT)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        if token is None:
            return None
        if token.span.text not in names:
            names.append(token.span.text)
        return AffineExpr.dimension(names.index(token.span.text))

    return names, _parse_expr(parser, affine, optional_id)


def _affine_parser(parser: Parser) -> AffineParser:
    from xdsl.parser.affine_parser import AffineParser

    return AffineParser(parser._parser_state)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001


def _parse_expr(
    parser: Parser, affine: AffineParser, optional_id: Callable[[], AffineExpr | None]
) -> AffineExpr:
    start = parser.pos
    where = parser.where(start) if isinstance(parser, LocatedParser) else None
    try:
        expr = affine._parse_affine_expr(optional_id)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    except NotImplementedError as error:
        message = "expected a linear index expression, found a product of iterators"
        raise InarchError(message, where=where) from error
    check_affine_depth(expr, where)
    return expr


def parse_optional_pick(parser: Parser) -> AffineExpr | None:
    """`at(n)`, the symbol n; None where something else stands, also an iterator that is called `at`."""
    start = parser.pos
    if parser.parse_optional_keyword("at") is None:
        return None
    if parser.parse_optional_punctuation("(") is None:
        parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        return None
    number = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_punctuation(")")
    return AffineExpr.symbol(number)


def indirect_map(count: int, results: Sequence[AffineExpr]) -> AffineMap:
    """A map over `count` iterators, of which some results may be symbols."""
    symbols = [expr.position for expr in results if isinstance(expr, AffineSymExpr)]
    return AffineMap(count, max(symbols, default=-1) + 1, tuple(results))


def print_affine_expr(expr: AffineExpr, names: Sequence[str]) -> str:
    """An affine expression over the iterators `names`, without redundant parentheses.

    Only linear expressions occur in Inarch's dialects; a term is `name`, `name * c` or `c`. And a symbol
    alone, `at(n)`.
    """
    if isinstance(expr, AffineSymExpr):
        return f"at({expr.position})"
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
