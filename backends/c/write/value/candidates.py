"""Candidates of an arg-reduction in C: a value and its place, of which an order takes one of two.

The same text does for one candidate and for one of each lane; there, what holds is a mask of all ones.
"""

from __future__ import annotations

from inarch.backends.c.types import literal
from inarch.core.dtypes import DTYPES, DType
from inarch.passes.loop.nests.arg_reduce import Order


def compared_as(dtype: DType) -> DType:
    """What elements are compared in: of less than 32 bits as i32, of which a vector holds as many places."""
    return dtype if dtype.bits >= 32 else DTYPES["i32"]


def first_value(order: Order) -> str:
    """What every element comes before, or is as good as."""
    dtype = compared_as(order.dtype)
    return literal(dtype.least if order.largest else dtype.greatest, dtype)


def comes_later(order: Order, x: str, value: str, *, lanes: bool) -> str:
    """C that holds where `x` is taken for `value`, of which all places are before that of `x`."""
    better, worse = (">", "<") if order.largest else ("<", ">")
    if not order.dtype.is_float:
        return f"{x} {better}{'=' if order.last else ''} {value}"
    if order.last:
        return f"({x} {better}= {value}) | ({x} != {x})"
    # What is not worse and not equal is better, or one of the two is NaN: the first one must be `x`.
    return f"{'~' if lanes else '!'}({x} {worse}= {value}) & ({value} == {value})"


def comes_before(
    order: Order, x: str, place: str, value: str, position: str, *, lanes: bool
) -> str:
    """C that holds where `x` at `place` is taken for `value` at `position`, wherever they are."""
    both, either = ("&", "|") if lanes else ("&&", "||")
    better = f"({x} {'>' if order.largest else '<'} {value})"
    same = f"({x} == {value})"
    if order.dtype.is_float:
        better = f"({better} {either} (({x} != {x}) {both} ({value} == {value})))"
        same = f"({same} {either} (({x} != {x}) {both} ({value} != {value})))"
    nearer = f"({place} {'>' if order.last else '<'} {position})"
    return f"{better} {either} ({same} {both} {nearer})"
