"""What the written operand must hold after a call, and how far off rounding may be.

The value is `evaluate` in float64 (of float64: in longdouble). The bound is a running error analysis of
the same meaning (Higham, Accuracy and Stability of Numerical Algorithms, 3.3): a second meaning, which
adds up for each element what each operation may round by. For a contraction it is c K eps sum |a| |b|.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import Array, np
from inarch.core.rounding import LIBRARY_ULPS, denormal
from inarch.core.rounding import unit as unit_of
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.meaning import (
    Apply,
    Element,
    Expression,
    Meaning,
    Number,
    Statement,
    elements,
    written,
)
from inarch.meaning.evaluate import evaluate

SLACK = 2.0
"""The c of the bound: kernels may form a reciprocal, or add in two more steps than there are terms."""
FUNCTION_ULP = 2 * LIBRARY_ULPS
"""How far off, in units of roundoff, a kernel's functions, such as exp, may be."""

_ERROR = "error_of_written"


@dataclass(frozen=True)
class Expected:
    """The written operand after the call: `value` within `bound`, where `is_judged`."""

    value: Array
    bound: Array
    is_judged: Array
    """False where a sum may overflow in one order and not in another, or rounding decides a sign."""


def expected(meaning: Meaning, arrays: Mapping[str, Array], *, has_specials: bool) -> Expected:
    """For `arrays` by operand, the written one with what it holds before. No size is free.

    `has_specials`: they hold infinities or NaN, so that one in a bound says nothing.
    """
    target = written(meaning)
    dtype = arrays[target].dtype
    if dtype.kind != "f":
        return _whole(meaning, arrays)
    limits, tiny, unit = np.finfo(dtype), denormal(dtype), unit_of(dtype)
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    current: dict[str, Array] = dict(arrays)
    wide[_ERROR] = np.zeros(wide[target].shape)
    magnitude = np.zeros(wide[target].shape)
    with np.errstate(all="ignore"):
        for statement in meaning.statements:
            one = Meaning(meaning.iterators, (statement,))
            factor = SLACK * (_terms(one) + 2)
            error = _after(one, wide, factor * unit, factor * tiny)
            grown = (error - wide[_ERROR]) / (factor * unit)
            # np.maximum keeps NaN: where numbers are infinite nothing is known.
            magnitude = np.maximum(magnitude, grown)
            current[target] = evaluate(one, current, exact=True)
            wide[target] = current[target].astype(np.float64)
            wide[_ERROR] = error
        value = wide[target]
        size = np.where(np.isfinite(value), np.abs(value), 0.0)
        bound = wide[_ERROR] + unit * size + tiny
        magnitude = np.maximum(magnitude, size)
        if not has_specials and _is_exact(meaning) and _all_whole(arrays):
            # Sums of whole numbers that a mantissa holds are exact in any order.
            bound = np.where(magnitude < 2.0**limits.nmant, 0.0, bound)
        is_finite = np.isfinite(bound)
        bound = np.where(is_finite, bound, SLACK * FUNCTION_ULP * unit * np.abs(value))
        # An infinite error: the sign of a divisor, or of the operand of a log, is open.
        is_certain = (magnitude < float(limits.max) / 4) | np.isnan(magnitude)
        is_judged = is_certain | (has_specials & ~is_finite)
    return Expected(current[target], bound, is_judged)


def _whole(meaning: Meaning, arrays: Mapping[str, Array]) -> Expected:
    """Of an integer operand: exact, except where it is a float that was cut off."""
    value = evaluate(meaning, arrays, exact=True)
    floats = any(array.dtype.kind == "f" for array in arrays.values())
    return Expected(value, np.full(value.shape, float(floats)), np.ones(value.shape, bool))


def _terms(meaning: Meaning) -> int:
    """How many values are combined in one element."""
    (statement,) = meaning.statements
    used = {index[0].iterator for index in statement.target.indices if index}
    names = (*meaning.iterators, *statement.iterators)
    return math.prod(int(each.size) for each in names if each.name not in used)


def _after(meaning: Meaning, wide: Mapping[str, Array], unit: float, least: float) -> Array:
    """The error after the one statement of `meaning`, whose operations round by `unit` relatively."""
    (statement,) = meaning.statements
    target = replace(statement.target, operand=_ERROR)
    value = _plain(statement.value)
    rules = _Rules(statement.target, target, unit, least)
    before, old = wide[_ERROR], wide[statement.target.operand]
    if statement.operator in ("=", "max=", "min="):
        operator = "=" if statement.operator == "=" else "max="
        return _run(meaning, statement, target, operator, rules.error(value), wide)
    own = _plus(rules.error(value), _times(Number(unit), _absolute(value)))
    if statement.operator == "+=":
        return _run(meaning, statement, target, "+=", own, wide) + unit * np.abs(old)
    # A product: relative errors add up.
    relative = Apply("div", (own, _absolute(value)))
    zero = {**wide, _ERROR: np.where(before > 0, before / np.abs(old), 0.0)}
    total = _run(meaning, statement, target, "+=", relative, zero)
    product = evaluate(Meaning(meaning.iterators, (replace(statement, value=value),)), dict(wide))
    return np.abs(product) * np.expm1(total)


def _run(
    meaning: Meaning,
    statement: Statement,
    target: Element,
    operator: str,
    value: Expression,
    wide: Mapping[str, Array],
) -> Array:
    changed = replace(statement, target=target, operator=operator, value=value)
    used = {each.operand for each in (target, *elements(value))}
    arrays = {name: array for name, array in wide.items() if name in used}
    return evaluate(Meaning(meaning.iterators, (changed,)), arrays)


@dataclass(frozen=True)
class _Rules:
    """How errors spread through an expression."""

    written: Element
    error_of_written: Element
    unit: float
    least: float
    """The smallest denormal: what a product that underflows may be off by."""

    def error(self, expression: Expression) -> Expression:
        match expression:
            case Element():
                return self.error_of_written if expression == self.written else Number(0.0)
            case Number():
                return Number(0.0)
            case Apply(function=name, arguments=(a,)):
                return self._unary(name, a, self.error(a))
            case Apply(function=name, arguments=(a, b)):
                return self._binary(name, expression, (a, b), (self.error(a), self.error(b)))
            case Apply():
                return Number(0.0)

    def _unary(self, name: str, a: Expression, error: Expression) -> Expression:
        here = Apply(name, (a,))
        rounding = _times(Number(FUNCTION_ULP * self.unit), _absolute(here))
        if name in ("neg", "abs", "relu"):
            return error
        if name == "exp":
            if error == Number(0.0):
                return rounding
            return _plus(_times(here, Apply("expm1", (error,))), rounding)
        if name in ("log", "sqrt"):
            # Of the magnitude: a negative number may be a positive one that was rounded.
            size = _absolute(Apply(name, (_absolute(a),)))
            rounding = _times(Number(FUNCTION_ULP * self.unit), size)
            least = _less(a, error)
            slope = least if name == "log" else Apply("sqrt", (least,))
            return _plus(_quotient(error, slope), rounding)
        if name == "expm1":
            grown = _times(Apply("exp", (a,)), Apply("expm1", (error,)))
            return rounding if error == Number(0.0) else _plus(grown, rounding)
        if name == "log1p":
            # A number below -1 may be one above it that was rounded.
            size = _absolute(Apply("log1p", (Apply("max", (a, Number(-1.0))),)))
            rounding = _times(Number(FUNCTION_ULP * self.unit), size)
            slope = _less(Apply("add", (a, Number(1.0))), error)
            return _plus(_quotient(error, slope), rounding)
        # The others have a slope of 2 / sqrt(pi) at most, that of erf at 0.
        return _plus(_times(Number(2 / math.sqrt(math.pi)), error), rounding)

    def _binary(
        self,
        name: str,
        here: Expression,
        values: tuple[Expression, Expression],
        errors: tuple[Expression, Expression],
    ) -> Expression:
        (a, b), (of_a, of_b) = values, errors
        if name in ("max", "min"):
            return _plus(of_a, of_b)
        if name in ("add", "sub"):
            sizes = _plus(_absolute(a), _absolute(b))
            return _plus(_plus(of_a, of_b), _times(Number(self.unit), sizes))
        rounding = _plus(_times(Number(self.unit), _absolute(here)), Number(self.least))
        if name == "mul":
            spread = _plus(_times(_absolute(a), of_b), _times(_absolute(b), of_a))
            return _plus(_plus(spread, _times(of_a, of_b)), rounding)
        spread = _plus(of_a, _times(_absolute(here), of_b))
        return _plus(_quotient(spread, _less(b, of_b)), rounding)


def _plain(expression: Expression) -> Expression:
    """Without casts: the bound is computed in float64."""
    match expression:
        case Apply(function=name, arguments=parts):
            plain = tuple(_plain(part) for part in parts)
            return plain[0] if name in DTYPES else Apply(name, plain)
        case _:
            return expression


def _plus(a: Expression, b: Expression) -> Expression:
    zero = Number(0.0)
    return b if a == zero else a if b == zero else Apply("add", (a, b))


def _times(a: Expression, b: Expression) -> Expression:
    zero = Number(0.0)
    return zero if zero in (a, b) else Apply("mul", (a, b))


def _quotient(a: Expression, b: Expression) -> Expression:
    return a if a == Number(0.0) else Apply("div", (a, b))


def _less(a: Expression, error: Expression) -> Expression:
    """What the magnitude of `a` is at least: 0 where `a` may have either sign."""
    if error == Number(0.0):
        return _absolute(a)
    return Apply("max", (Apply("sub", (_absolute(a), error)), Number(0.0)))


def _absolute(a: Expression) -> Expression:
    return Number(abs(a.value)) if isinstance(a, Number) else Apply("abs", (a,))


def _is_exact(meaning: Meaning) -> bool:
    """Whether whole numbers stay whole."""
    return all(_is_exact_expression(statement.value) for statement in meaning.statements)


def _is_exact_expression(expression: Expression) -> bool:
    match expression:
        case Apply(function=name, arguments=parts):
            known = name in DTYPES or OF_MEANINGS[name].keeps_whole
            return known and all(_is_exact_expression(part) for part in parts)
        case Number(value=value):
            return math.isinf(value) or value == math.floor(value)
        case Element():
            return True


def _all_whole(arrays: Mapping[str, Array]) -> bool:
    """Whether all numbers are whole; NaN is what is not read."""
    floats = [array[np.isfinite(array)] for array in arrays.values() if array.dtype.kind == "f"]
    return all(bool(np.all(array == np.floor(array))) for array in floats)
