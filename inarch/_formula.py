"""Formulas of kernel files: `MR * NR <= 64`, `2 * K`; Python's syntax for integers, nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

from inarch.errors import InarchError

_MAX_LENGTH = 1000
"""Characters; Python's parser recurses."""

_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def formula(text: str, values: Mapping[str, int]) -> int:
    """The value of a formula of `values`: + - * // %, comparisons, and, or, not.

    Raises InarchError for anything else, for unknown names, and for a division by 0.
    """
    try:
        return _value(_parsed(text).body, values)
    except ZeroDivisionError as error:
        raise InarchError(f"'{text}' divides by 0") from error
    except _UnfitError as error:
        raise InarchError(f"'{text}': {error}") from error


@lru_cache(maxsize=256)
def names(text: str) -> tuple[str, ...]:
    """The names in a formula, in order. Raises InarchError where it is none."""
    found = [node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)]
    return tuple(dict.fromkeys(found))


class _UnfitError(Exception):
    """What a formula holds that it may not."""


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Expression:
    if len(text) > _MAX_LENGTH:
        raise InarchError(f"expected a formula of at most {_MAX_LENGTH} characters")
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise InarchError(f"expected a formula, found '{text}' ({reason})") from error


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            if name not in values:
                raise _UnfitError(f"unknown name '{name}'; known: {', '.join(values) or 'none'}")
            return values[name]
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            return _ARITHMETIC[type(node.op)](_value(node.left, values), _value(node.right, values))
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, values)
        case ast.UnaryOp(op=ast.Not()):
            return not _value(node.operand, values)
        case ast.BoolOp():
            every = isinstance(node.op, ast.And)
            decide = all if every else any
            return decide(_value(part, values) for part in node.values)
        case ast.Compare():
            return _compare(node, values)
        case _:
            raise _UnfitError(f"expected arithmetic of integers, found '{ast.unparse(node)}'")


def _compare(node: ast.Compare, values: Mapping[str, int]) -> bool:
    sides = [_value(side, values) for side in (node.left, *node.comparators)]
    for kind, left, right in zip(node.ops, sides, sides[1:], strict=False):
        if type(kind) not in _COMPARISONS:
            raise _UnfitError(f"expected arithmetic of integers, found '{ast.unparse(node)}'")
        if not _COMPARISONS[type(kind)](left, right):
            return False
    return True
