"""A meaning as text, in the one form that `inarch.meaning.parse` reads back as the same tree."""

from __future__ import annotations

from inarch.core.scalars.functions import SIGNS
from inarch.meaning._tree import (
    Apply,
    Element,
    Expression,
    Index,
    Iterator,
    Meaning,
    Number,
    Statement,
    Term,
)

_INFIX = {name: (sign, 1 if sign in "+-" else 2) for name, sign in SIGNS.items()}
"""Function -> its sign and how strongly it binds."""

_PREFIX_BINDS = 3


def meaning_text(meaning: Meaning) -> str:
    """`for m in 4: C[m] = 0; for k in K: C[m] += A[m, k]`."""
    statements = "; ".join(_statement(statement) for statement in meaning.statements)
    if meaning.iterators:
        return f"for {_iterators(meaning.iterators)}: {statements}"
    # Without the empty head, the first statement's own iterators would be read as those of all.
    return f"for: {statements}" if meaning.statements[0].iterators else statements


def element_text(element: Element) -> str:
    """`A[m, 2 * k]`."""
    return f"{element.operand}[{', '.join(index_text(index) for index in element.indices)}]"


def index_text(index: Index) -> str:
    """`p * SH + r - 1`."""
    parts: list[str] = []
    for term in index:
        negative = bool(term.factors) and isinstance(term.factors[-1], int) and term.factors[-1] < 0
        sign = "-" if negative else "+"
        parts.append(f" {sign} {_term(term)}" if parts else f"{'-' * negative}{_term(term)}")
    return "".join(parts) or "0"


def expression_text(expression: Expression, binds: int = 0) -> str:
    """`A[k] * (B[k] + 1)`; in parentheses where what is around binds more strongly than `binds`."""
    match expression:
        case Number():
            return _number(expression.value)
        case Element():
            return element_text(expression)
        case Apply(function="neg", arguments=(argument,)) if not isinstance(argument, Number):
            return f"-{expression_text(argument, _PREFIX_BINDS)}"
        case Apply(function=function, arguments=(left, right)) if function in _INFIX:
            sign, own = _INFIX[function]
            text = f"{expression_text(left, own)} {sign} {expression_text(right, own + 1)}"
            return f"({text})" if own < binds else text
        case Apply():
            arguments = ", ".join(expression_text(argument) for argument in expression.arguments)
            return f"{expression.function}({arguments})"


def _statement(statement: Statement) -> str:
    head = f"for {_iterators(statement.iterators)}: " if statement.iterators else ""
    value = expression_text(statement.value)
    return f"{head}{element_text(statement.target)} {statement.operator} {value}"


def _iterators(iterators: tuple[Iterator, ...]) -> str:
    return ", ".join(f"{iterator.name} in {iterator.size}" for iterator in iterators)


def _term(term: Term) -> str:
    """Without its sign."""
    factors = [abs(factor) if isinstance(factor, int) else factor for factor in term.factors]
    if factors and factors[-1] == 1:
        factors.pop()
    names = [] if term.iterator is None else [term.iterator]
    return " * ".join(str(factor) for factor in (*names, *factors)) or "1"


def _number(value: float) -> str:
    if abs(value) < 2**53 and value == int(value) and str(value)[0:2] != "-0":
        return str(int(value))
    return repr(float(value))
