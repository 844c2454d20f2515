"""A meaning as one contraction: what is combined, how it begins, what is done with the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from inarch.core.errors import InarchError, UnsupportedError
from inarch.meaning._parser import elements
from inarch.meaning._text import element_text
from inarch.meaning._tree import (
    OPERATORS,
    Apply,
    Element,
    Expression,
    Iterator,
    Meaning,
    Number,
    Statement,
)


@dataclass(frozen=True)
class Normal:
    """`[target = init;] [for reductions:] target operator= update [; target = finish]`.

    For every point of `parallel`, whose iterators index `target`, in the order of its indices.
    """

    parallel: tuple[Iterator, ...]
    reductions: tuple[Iterator, ...]
    init: Expression | None
    """None: it combines with what the target holds (or, without an operator, overwrites it)."""
    operator: str | None
    """`add`, `mul`, `max` or `min`; None for a plain assignment of `update`."""
    update: Expression
    finish: Expression | None
    """Of the accumulator, as the element `target`, and of other operands."""
    target: Element

    @property
    def applied(self) -> list[str]:
        """The functions of a step, as often as they are applied; a summed product is one."""
        own = applied(self.update)
        if self.operator is None:
            return own
        is_product = isinstance(self.update, Apply) and self.update.function == "mul"
        return [self.operator, *(own[1:] if self.operator == "add" and is_product else own)]


def applied(expression: Expression) -> list[str]:
    """The functions and casts of an expression, as often as they are applied, from the outermost one."""
    if not isinstance(expression, Apply):
        return []
    return [expression.function, *(name for part in expression.arguments for name in applied(part))]


def normal(meaning: Meaning) -> Normal:
    """The meaning in this shape. Raises UnsupportedError, naming the statement that does not fit."""
    statements = list(meaning.statements)
    target = statements[0].target
    init = finish = None
    first = statements[0]
    if len(statements) > 1 and _overwrites(first) and statements[1].operator != "=":
        init = first.value
        statements = statements[1:]
    main, *rest = statements
    if rest and rest[-1].operator == "=" and _reads_target(rest[-1]):
        finish = rest.pop().value
    if rest:
        raise _unfit(meaning, rest[0])
    if _reads_target(main):
        raise _unfit(meaning, main)
    names = [index[0].iterator for index in target.indices]
    shared = {iterator.name: iterator for iterator in meaning.iterators}
    parallel = tuple(shared[name] for name in names if name is not None)
    reductions = (
        *(iterator for iterator in meaning.iterators if iterator.name not in names),
        *main.iterators,
    )
    operator = OPERATORS[main.operator]
    return Normal(parallel, reductions, init, operator, main.value, finish, target)


def substitute(expression: Expression, target: Element, value: Expression) -> Expression:
    """`expression` with `value` in place of the element `target`."""
    match expression:
        case Element():
            return value if expression == target else expression
        case Apply():
            parts = tuple(substitute(part, target, value) for part in expression.arguments)
            return Apply(expression.function, parts)
        case Number():
            return expression


def with_casts(meaning: Meaning, dtypes: Mapping[str, str]) -> Meaning:
    """`meaning` with `ui8(A[i])` in place of each element of an operand that `dtypes` has."""

    def cast(expression: Expression) -> Expression:
        match expression:
            case Element(operand=operand):
                return Apply(dtypes[operand], (expression,)) if operand in dtypes else expression
            case Apply(function=function, arguments=arguments):
                if arguments and all(_is_cast(part, function, dtypes) for part in arguments):
                    return expression
                return Apply(function, tuple(map(cast, arguments)))
            case Number():
                return expression

    statements = [replace(one, value=cast(one.value)) for one in meaning.statements]
    return Meaning(meaning.iterators, tuple(statements))


def _is_cast(expression: Expression, function: str, dtypes: Mapping[str, str]) -> bool:
    return isinstance(expression, Element) and dtypes.get(expression.operand) == function


def _overwrites(statement: Statement) -> bool:
    return statement.operator == "=" and not _reads_target(statement)


def _reads_target(statement: Statement) -> bool:
    return any(element == statement.target for element in elements(statement.value))


def _unfit(meaning: Meaning, statement: Statement) -> InarchError:
    number = meaning.statements.index(statement) + 1
    return UnsupportedError(
        f"statement {number} of the meaning, on {element_text(statement.target)}, is not part of "
        "'init; accumulation; finish', so nests cannot be matched with it"
    )
