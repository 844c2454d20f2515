"""Arg-reductions: nests whose two accumulators are the best value so far and where it was.

    take = x comes before value, or is as good and its place comes before position
    value, position = take ? x, place : value, position

The rule orders pairs, so that any order of the points gives one result, also parts of them, whose results are
combined by the same rule: lanes, of which each goes through its own elements from front to back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import PointOp
from inarch.dialects.scalar import Scalar
from inarch.ir.types import dtype_of


@dataclass(frozen=True)
class Order:
    """Which elements an arg-reduction prefers: NaN to all others, and of equal ones the first or the last."""

    dtype: DType
    """Of the elements, with their sign."""
    largest: bool
    last: bool

    def takes(self, x: Scalar, place: Scalar, value: Scalar, position: Scalar) -> Scalar:
        """Whether `x` at `place` comes before `value` at `position`, a bool."""
        better = x.greater(value) if self.largest else x.less(value)
        same = x.equal(value)
        if self.dtype.is_float:
            nan = x.not_equal(x)
            better = better | (nan & value.equal(value))
            same = same | (nan & value.not_equal(value))
        nearer = place.greater(position) if self.last else place.less(position)
        return better | (same & nearer)


@dataclass(frozen=True)
class ArgReduction:
    """What a nest looks for, and where: its outputs are the value and the position, in this order."""

    order: Order
    x: SSAValue
    """In the body, what is compared at a point; it does not depend on an accumulator."""
    place: PointOp
    """Where it is."""


def match_arg_reduction(nest: NestOp) -> ArgReduction | None:
    """`nest` as an arg-reduction, or None."""
    if len(nest.outs) != 2 or not nest.has_reduction:
        return None
    value, position = nest.accumulators(nest.body)
    best, where = (each.owner for each in nest.yielded(nest.body))
    if not isinstance(best, arith.SelectOp) or not isinstance(where, arith.SelectOp):
        return None
    if best.rhs is not value or where.rhs is not position or best.cond is not where.cond:
        return None
    cast = where.lhs.owner
    if not isinstance(cast, arith.IndexCastOp) or not isinstance(cast.input.owner, PointOp):
        return None
    for order in _orders(dtype_of(memref_of(nest.outs[0]).element_type)):
        condition, arguments = _condition(order, best, where)
        values = (best.lhs, where.lhs, value, position)
        if _is_same(best.cond, condition, dict(zip(arguments, values, strict=True))):
            if {value, position} & sources_of(best.lhs):
                return None
            return ArgReduction(order, best.lhs, cast.input.owner)
    return None


def runs_in_lanes(nest: NestOp, found: ArgReduction, reduction: int) -> bool:
    """Whether lanes can go along the reduction: none leaves a buffer, and places rise and do not wrap."""
    if any(read.is_padded for read in nest.reads) or any(write.clips for write in nest.writes):
        return False
    if any(isinstance(each.owner, PointOp) for each in sources_of(found.x)) or 0 in nest.sizes:
        return False
    place = found.place.over(nest.names)
    low, high = place.bounds(nest.sizes)
    bits = dtype_of(memref_of(nest.outs[1]).element_type).bits
    narrow = max(found.order.dtype.bits, 32) - 2
    is_inside = -(1 << bits >> 1) <= low and high < 1 << bits >> 1
    return place.coefficients[reduction] > 0 and is_inside and not nest.sizes[reduction] >> narrow


def _orders(dtype: DType) -> Iterator[Order]:
    """Those that elements of a (signless) dtype may have; of bools, none."""
    if dtype.name == "i1":
        return
    kinds = [dtype] if dtype.is_float else [dtype, DTYPES[f"u{dtype.name}"]]
    for kind in kinds:
        for largest in (True, False):
            for last in (False, True):
                yield Order(kind, largest, last)


def _condition(
    order: Order, best: arith.SelectOp, where: arith.SelectOp
) -> tuple[SSAValue, tuple[BlockArgument, ...]]:
    """What the condition of an order looks like; and what x, place, value and position are in it."""
    kinds = (best.lhs.type, where.lhs.type)
    block = Block(arg_types=[*kinds, *kinds])
    dtypes = (order.dtype, dtype_of(where.lhs.type)) * 2
    scalars = [
        Scalar(argument, dtype, block) for argument, dtype in zip(block.args, dtypes, strict=True)
    ]
    return order.takes(*scalars).value, block.args


def _is_same(found: SSAValue, wanted: SSAValue, known: Mapping[SSAValue, SSAValue]) -> bool:
    """Whether two values are computed alike, by the same operations in the same order of operands."""
    if isinstance(wanted, BlockArgument):
        return known[wanted] is found
    one, other = found.owner, wanted.owner
    if not isinstance(one, Operation) or not isinstance(other, Operation):
        return False
    alike = type(one) is type(other) and one.properties == other.properties
    return alike and all(
        _is_same(a, b, known) for a, b in zip(one.operands, other.operands, strict=True)
    )


def sources_of(value: SSAValue) -> set[SSAValue]:
    """All values that `value` is computed from, and itself."""
    found: set[SSAValue] = set()
    left = [value]
    while left:
        current = left.pop()
        if current not in found:
            found.add(current)
            left += current.owner.operands if isinstance(current.owner, Operation) else ()
    return found
