"""What the written operand must hold after a call, and how far off rounding may be.

It is what `inarch.definitions` says of the same statements: their value and its bound. A kernel may do more
than a program that we compile: form a reciprocal, add in two more steps than there are terms, and take its
functions from any library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from inarch.core.dtypes import DTYPES, float_limits, is_float_array
from inarch.core.lazy import Array, np
from inarch.core.rounding import LIBRARY_ULPS
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.definitions.bounded import Bounded
from inarch.definitions.buffers import Bounds
from inarch.definitions.compare import Expected
from inarch.definitions.statements import evaluate
from inarch.meaning import Apply, Expression, Meaning, Number


class OfKernel(Bounded):
    """What a kernel may end within."""

    SLACK = 2.0
    ULPS = LIBRARY_ULPS


class Whole(OfKernel):
    """The same of whole numbers, of which whole ones are made: exact while a mantissa holds them."""

    def in_range(self) -> Bounded:
        made = super().in_range()
        limit = 1 / float_limits(self.dtype).unit
        # An error of 1 or more: on the way there was a number that a mantissa may not hold.
        is_held = (made.magnitude < limit) & (made.error < 1)
        error, roundings = (np.where(is_held, 0.0, each) for each in (made.error, made.roundings))
        return replace(made, error=error, roundings=roundings)


class Flushing(OfKernel):
    """The same of a kernel to which denormals are 0: as operands, and as results."""

    @property
    def least(self) -> float:
        return self.SLACK * float_limits(self.dtype).normal

    @classmethod
    def exact(cls, array: Array) -> Bounded:
        found = super().exact(array)
        is_lost = found.is_float and found.magnitude < float_limits(found.dtype).normal
        return replace(found, error=np.where(is_lost, found.magnitude, found.error))

    def add(self, other: Bounded, sign: int = 1) -> Bounded:
        found = super().add(other, sign)
        return replace(found, error=found.error + self.least) if found.is_float else found


def expected(meaning: Meaning, arrays: Mapping[str, Array], *, flushes: bool = False) -> Expected:
    """The written operand, for `arrays` by operand, it with what it holds before. No size is free.

    `flushes`: denormals may be 0.
    A bound is infinite where a sum may overflow in one order and not in another, or rounding decides a sign.
    """
    kind = Whole if _is_exact(meaning) and _are_whole(arrays) else OfKernel
    kind = Flushing if flushes and kind is OfKernel else kind
    found = evaluate(meaning, arrays, Bounds(kind))
    return Expected(found.value, found.value, np.asarray(found.total))


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
        case _:
            return True


def _are_whole(arrays: Mapping[str, Array]) -> bool:
    """Whether all numbers are whole; NaN is what is not read."""
    floats = [array[np.isfinite(array)] for array in arrays.values() if is_float_array(array.dtype)]
    return all(bool(np.all(array == np.floor(array))) for array in floats)
