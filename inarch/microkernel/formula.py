"""Formulas of kernel files: `MR * NR <= 64`, `2 * K`; Python's syntax for integers, nothing else."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType

from inarch.core.errors import InarchError

_MAX_LENGTH = 1000
"""Characters; Python's parser recurses."""

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def formula(text: str, values: Mapping[str, int]) -> int:
    """The value of a formula of `values`: + - * // %, comparisons, and, or, not.

    Raises InarchError for anything else, for unknown names, and for a division by 0.
    """
    try:
        # Only what `_checked` lets through is run: no call, no attribute, no builtin name.
        return eval(_compiled(text), {"__builtins__": {}}, values)
    except ZeroDivisionError as error:
        raise InarchError(f"'{text}' divides by 0") from error
    except NameError as error:
        known = ", ".join(values) or "none"
        raise InarchError(f"'{text}': unknown name '{error.name}'; known: {known}") from error


@lru_cache(maxsize=256)
def names(text: str) -> tuple[str, ...]:
    """The names in a formula, in order. Raises InarchError where it is none."""
    found = [node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Expression:
    if len(text) > _MAX_LENGTH:
        raise InarchError(f"expected a formula of at most {_MAX_LENGTH} characters")
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise InarchError(f"expected a formula, found '{text}' ({reason})") from error


@lru_cache(maxsize=4096)
def _compiled(text: str) -> CodeType:
    """As bytecode: the constraints of a family are evaluated for each of its thousands of members."""
    tree = _parsed(text)
    try:
        body = _Booleans().visit(_checked(tree.body, text))
        return compile(ast.fix_missing_locations(ast.Expression(body)), "<formula>", "eval")
    except (RecursionError, MemoryError) as error:
        raise InarchError(f"expected a formula, found '{text}' (nested too deeply)") from error


def _checked(node: ast.expr, text: str) -> ast.expr:
    match node:
        case ast.Constant(value=int()) | ast.Name():
            parts: list[ast.expr] = []
        case ast.BinOp() if isinstance(node.op, _ARITHMETIC):
            parts = [node.left, node.right]
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            parts = [node.operand]
        case ast.BoolOp():
            parts = node.values
        case ast.Compare() if all(isinstance(each, _COMPARISONS) for each in node.ops):
            parts = [node.left, *node.comparators]
        case _:
            raise InarchError(
                f"'{text}': expected arithmetic of integers, found '{ast.unparse(node)}'"
            )
    for part in parts:
        _checked(part, text)
    return node


class _Booleans(ast.NodeTransformer):
    """`a and b` is true or false, as in mathematics; Python's is one of them."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        whole = ast.BoolOp(node.op, [self.visit(value) for value in node.values])
        return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), whole))
