"""Between which numbers an index lies, as far as constants, loops and sums of them say."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from inarch.ir.payload.lazy import arith

FAR = 1 << 61
"""No buffer has an element so far away: an index of which nothing is known is taken to be nearer."""


class Counts(ABC):
    """An op whose region runs once for each number of a range: its first argument."""

    @abstractmethod
    def counted(self) -> range | None:
        """The numbers, in order; none when the region never runs. None: they are computed."""

    @abstractmethod
    def spanned(self) -> range:
        """Numbers among which all of them are, whatever is computed; to `FAR`, where nothing says less."""


def number_of_index(value: int | SSAValue) -> int | None:
    """The number that a bound is, also as a constant; None where it is computed."""
    if isinstance(value, int):
        return value
    owner = value.owner
    constant = owner.value if isinstance(owner, arith.ConstantOp) else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None


def span_of(value: int | SSAValue) -> tuple[int, int]:
    """The least and the largest number that an index may be; -FAR and FAR where that is not known.

    Followed are constants, numbers of loops, and sums, differences, products, minima and maxima of them, and
    quotients by constants.
    """
    known = number_of_index(value)
    if known is not None or isinstance(value, int):
        number = value if known is None else known
        assert isinstance(number, int)
        return number, number
    low, high = _span(value)
    return (low, high) if -FAR <= low <= high <= FAR else (-FAR, FAR)


def _span(value: SSAValue) -> tuple[int, int]:
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        numbers = loop.spanned() if isinstance(loop, Counts) else None
        return (numbers[0], numbers[-1]) if numbers else (-FAR, FAR)
    match owner:
        case arith.AddiOp():
            (a, b), (c, d) = span_of(owner.lhs), span_of(owner.rhs)
            return a + c, b + d
        case arith.SubiOp():
            (a, b), (c, d) = span_of(owner.lhs), span_of(owner.rhs)
            return a - d, b - c
        case arith.MuliOp():
            (a, b), (c, d) = span_of(owner.lhs), span_of(owner.rhs)
            ends = (a * c, a * d, b * c, b * d)
            return min(ends), max(ends)
        case arith.MinSIOp():
            (a, b), (c, d) = span_of(owner.lhs), span_of(owner.rhs)
            return min(a, c), min(b, d)
        case arith.MaxSIOp():
            (a, b), (c, d) = span_of(owner.lhs), span_of(owner.rhs)
            return max(a, c), max(b, d)
        case arith.DivSIOp() if (by := number_of_index(owner.rhs)) is not None and by > 0:
            low, high = span_of(owner.lhs)
            return _towards_zero(low, by), _towards_zero(high, by)
        case arith.CeilDivUIOp() if (by := number_of_index(owner.rhs)) is not None and by > 0:
            low, high = span_of(owner.lhs)
            return (-(-low // by), -(-high // by)) if low >= 0 else (-FAR, FAR)
        case _:
            return -FAR, FAR


def _towards_zero(number: int, by: int) -> int:
    return number // by if number >= 0 else -(-number // by)
