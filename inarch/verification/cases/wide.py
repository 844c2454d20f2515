"""How large integers of 32 and 64 bits may be in a call so that no sum or product overflows."""

from __future__ import annotations

import math
from collections.abc import Mapping

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import np
from inarch.meaning import Apply, Expression, Meaning, Number, elements, written

_NO_GROWTH = frozenset({"max", "min", "relu"})
_SUMS = frozenset({"add", "sub", "neg"})


def magnitudes(meaning: Meaning, dtypes: Mapping[str, str]) -> dict[str, int]:
    """Operand -> a bound on its integers; without an entry they are small. No size is free.

    Overflow of signed integers is undefined in C, so products keep to small numbers; what is only
    compared takes every value, and what is only added up a share of the range.
    """
    kinds = {name: np.dtype(DTYPES[dtype].numpy) for name, dtype in dtypes.items()}
    target = written(meaning)
    limit = _limit(kinds[target])
    functions = {name for s in meaning.statements for name in _functions(s.value)}
    operators = {statement.operator for statement in meaning.statements}
    if not limit or functions - _NO_GROWTH - _SUMS - set(DTYPES) - {"mul"}:
        return {}
    if len(set(kinds.values())) == 1 and functions <= _NO_GROWTH | _SUMS and "*=" not in operators:
        if functions <= _NO_GROWTH and "+=" not in operators:
            return dict.fromkeys(dtypes, limit)
        points = math.prod(int(i.size) for i in meaning.iterators)
        points *= math.prod(int(i.size) for s in meaning.statements for i in s.iterators)
        terms = 1 + sum(1 + len(elements(s.value)) + _numbers(s.value) for s in meaning.statements)
        share = limit // (4 * points * terms)
        return dict.fromkeys(dtypes, share) if share > 8 else {}
    first = meaning.statements[0]
    read = {element.operand for element in elements(first.value)}
    if len(meaning.statements) == 1 and first.operator == "+=" and target not in read:
        return {target: limit // 4}
    return {}


def _limit(dtype: np.dtype) -> int:
    """The largest value of an integer of 32 bits or more, else 0."""
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" and dtype.itemsize >= 4 else 0


def _functions(expression: Expression) -> set[str]:
    if not isinstance(expression, Apply):
        return set()
    return {expression.function}.union(*map(_functions, expression.arguments))


def _numbers(expression: Expression) -> int:
    """What the numbers in an expression add up to at most."""
    if isinstance(expression, Number):
        return math.ceil(abs(expression.value)) if math.isfinite(expression.value) else 0
    return sum(map(_numbers, expression.arguments)) if isinstance(expression, Apply) else 0
