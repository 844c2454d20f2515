"""Sizes that models leave open: names of dimensions, and expressions of names, as exporters write them."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

ANONYMOUS = frozenset({"", "?", "*", "-1"})
"""What exporters write for each size that they do not know: no two of them need to be equal."""

_MOST_TEXT = 200
"""Characters of an expression."""

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: lambda a, b: a % b,
}


def _floor(a: Fraction) -> Fraction:
    return Fraction(math.floor(a))


def _ceil(a: Fraction) -> Fraction:
    return Fraction(math.ceil(a))


_FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "floor": _floor,
    "ceil": _ceil,
    "ceiling": _ceil,
    "max": max,
    "min": min,
    "mod": _BINARY[ast.Mod],
    "floordiv": _BINARY[ast.FloorDiv],
}
"""By their names in small letters: SymPy, of which PyTorch's expressions are, writes Max and Mod."""


class Expression:
    """A size that others determine: `2*s`, `past + 1`, `floor(s/2)`."""

    def __init__(self, text: str, tree: ast.expr) -> None:
        self.text = text
        self._tree = tree
        called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        found = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called)
        self.names = tuple(dict.fromkeys(name.id for name in found))
        """What it depends on."""

    def value(self, sizes: Mapping[str, int]) -> int | None:
        """The size; None where it is none: a fraction, negative, or divided by 0."""
        try:
            found = _value(self._tree, sizes)
        except (ZeroDivisionError, TypeError):
            return None
        return int(found) if found.denominator == 1 and found >= 0 else None

    def solved(self, name: str, size: int, sizes: Mapping[str, int]) -> int | None:
        """What `name` is where the expression, linear in it, is `size`; None where that is not so."""
        try:
            first, second = (_value(self._tree, {**sizes, name: at}) for at in (0, 1))
        except (ZeroDivisionError, TypeError):
            return None
        if first == second:
            return None
        found = (size - first) / (second - first)
        if found.denominator != 1 or found < 0:
            return None
        number = int(found)
        return number if self.value({**sizes, name: number}) == size else None


def expression(text: str, known: Collection[str]) -> Expression | None:
    """`text` as an expression of names in `known`; None where it is a name of its own, such as `batch-size`.

    >>> found = expression("2*s + 1", {"s"})
    >>> found.value({"s": 4}), found.solved("s", 9, {}), expression("batch-size", {"batch"})
    (9, 4, None)
    """
    if len(text) > _MOST_TEXT or text.isidentifier():
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not _is_expression(tree):
        return None
    found = Expression(text, tree)
    return found if found.names and all(name in known for name in found.names) else None


def _is_expression(tree: ast.expr) -> bool:
    match tree:
        case ast.Name():
            return True
        case ast.Constant(value=value):
            return type(value) is int and abs(value) < 1 << 63
        case ast.BinOp(left=left, op=operator, right=right):
            return type(operator) in _BINARY and _is_expression(left) and _is_expression(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_expression(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return name.lower() in _FUNCTIONS and all(map(_is_expression, args))
        case _:
            return False


def _value(tree: ast.expr, sizes: Mapping[str, int]) -> Fraction:
    match tree:
        case ast.Name(id=name):
            return Fraction(sizes[name])
        case ast.Constant(value=int(value)):
            return Fraction(value)
        case ast.BinOp(left=left, op=operator, right=right):
            return _BINARY[type(operator)](_value(left, sizes), _value(right, sizes))
        case ast.UnaryOp(operand=operand):
            return -_value(operand, sizes)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name.lower()](*(_value(each, sizes) for each in args))
        case _:
            raise TypeError(f"expected an expression of sizes, found {ast.dump(tree)}")
