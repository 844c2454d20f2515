"""What a microkernel computes, as data: the grammar of `Microkernel.computes`.

    for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]
    for m in 4, n in 16: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]; C[m, n] = max(C[m, n], 0)

    meaning    = [ "for" [ iterators ] ":" ] statement { ";" statement }
    statement  = [ "for" iterators ":" ] element operator expression
    operator   = "=" | "+=" | "*=" | "max=" | "min="
    iterators  = NAME "in" size { "," NAME "in" size }
    size       = INTEGER | NAME
    element    = NAME "[" [ index { "," index } ] "]"
    index      = [ "-" ] term { ("+" | "-") term }
    term       = factor { "*" factor }          at most one iterator among the factors
    factor     = INTEGER | NAME
    expression = sum with the usual precedence of  + - * /  and unary -
    primary    = NUMBER | "inf" | element | NAME "(" expression { "," expression } ")" | "(" expression ")"

A name in a size or an index that is not an iterator is a parameter, or a size that the call gives. The
iterators after the first `for` are those of every statement; those of a statement are its own, and run
inside. An iterator that the written element does not use is a reduction.

One operand is written, by every statement at the same element, whose indices are distinct iterators of the
first `for`. So the points of parallel iterators are independent of each other. `=` has no reductions and may
read the element that it writes; the others do so by themselves. Where there are several statements,
reductions belong to theirs. Functions are those of `FUNCTIONS`, and the dtypes (`f32(x)` casts).

Equality of two meanings is equality of these objects: names count; spaces, and how a sum of an index
is written, do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from inarch.core.scalars.functions import OF_MEANINGS as FUNCTIONS
from inarch.meaning._normal import Normal, applied, normal, substitute, with_casts
from inarch.meaning._parser import Parser, elements
from inarch.meaning._text import element_text, expression_text, index_text, meaning_text
from inarch.meaning._tree import (
    OPERATORS,
    Apply,
    Element,
    Expression,
    Index,
    Iterator,
    Meaning,
    Number,
    Size,
    Statement,
    Term,
    index_of,
)

__all__ = [
    "FUNCTIONS",
    "OPERATORS",
    "Access",
    "Apply",
    "Element",
    "Expression",
    "Index",
    "Iterator",
    "Meaning",
    "Normal",
    "Number",
    "Size",
    "Statement",
    "Term",
    "accesses",
    "applied",
    "bind",
    "bind_expression",
    "element_text",
    "elements",
    "expression_text",
    "free_sizes",
    "index_of",
    "index_text",
    "iterators",
    "normal",
    "operands",
    "parse",
    "ranks",
    "substitute",
    "text",
    "with_casts",
    "written",
]

Access = Literal["read", "write", "update"]
"""An operand is read, overwritten, or read and written."""


@lru_cache(maxsize=1024)
def parse(text: str, source: str = "computes") -> Meaning:
    """The meaning that `text` states; `source` is what messages call the text.

    Raises InarchError for anything else: `computes:1:23: error: expected ..., found ...`.
    """
    return Parser(text, source).meaning()


def text(meaning: Meaning) -> str:
    """The meaning's canonical text: `parse(text(meaning)) == meaning`."""
    return meaning_text(meaning)


def written(meaning: Meaning) -> str:
    """The operand that the statements write."""
    return meaning.statements[0].target.operand


def operands(meaning: Meaning) -> tuple[str, ...]:
    """The operands in the order in which the text names them."""
    found: dict[str, None] = {}
    for statement in meaning.statements:
        for element in (statement.target, *elements(statement.value)):
            found[element.operand] = None
    return tuple(found)


def ranks(meaning: Meaning) -> dict[str, int]:
    """Operand -> its number of dimensions."""
    return {
        element.operand: len(element.indices)
        for statement in meaning.statements
        for element in (statement.target, *elements(statement.value))
    }


def accesses(meaning: Meaning) -> dict[str, Access]:
    """What happens to each operand; the written one is overwritten only if no old value counts."""
    first = meaning.statements[0]
    reads = first.operator != "=" or first.target in elements(first.value)
    found: dict[str, Access] = dict.fromkeys(operands(meaning), "read")
    found[written(meaning)] = "update" if reads else "write"
    return found


def iterators(meaning: Meaning) -> tuple[Iterator, ...]:
    """All iterators: those of every statement, then those of each in turn."""
    own = [iterator for statement in meaning.statements for iterator in statement.iterators]
    return (*meaning.iterators, *own)


def free_sizes(meaning: Meaning) -> tuple[str, ...]:
    """The names of sizes and factors that are not bound to numbers, in the order first named."""
    found: list[Size] = [iterator.size for iterator in meaning.iterators]
    for statement in meaning.statements:
        found += [iterator.size for iterator in statement.iterators]
        for element in (statement.target, *elements(statement.value)):
            for index in element.indices:
                found += [factor for term in index for factor in term.factors]
    return tuple(dict.fromkeys(size for size in found if isinstance(size, str)))


def bind(meaning: Meaning, values: Mapping[str, int]) -> Meaning:
    """The meaning with numbers in place of the sizes and factors that `values` names."""
    statements = tuple(
        replace(
            statement,
            iterators=_bound(statement.iterators, values),
            value=bind_expression(statement.value, values),
        )
        for statement in meaning.statements
    )
    return Meaning(_bound(meaning.iterators, values), statements)


def bind_expression(expression: Expression, values: Mapping[str, int]) -> Expression:
    """The same for an expression: indices of its elements are folded."""
    match expression:
        case Element():
            indices = tuple(_bind_index(index, values) for index in expression.indices)
            return Element(expression.operand, indices)
        case Apply():
            parts = tuple(bind_expression(part, values) for part in expression.arguments)
            return Apply(expression.function, parts)
        case Number():
            return expression


def _bind_index(index: Index, values: Mapping[str, int]) -> Index:
    return index_of(
        Term(tuple(_bind_size(factor, values) for factor in term.factors), term.iterator)
        for term in index
    )


def _bind_size(size: Size, values: Mapping[str, int]) -> Size:
    return values.get(size, size) if isinstance(size, str) else size


def _bound(iterators: tuple[Iterator, ...], values: Mapping[str, int]) -> tuple[Iterator, ...]:
    return tuple(Iterator(each.name, _bind_size(each.size, values)) for each in iterators)
