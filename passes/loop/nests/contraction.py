"""Recognising contractions: `acc + a * b` over reductions, and which iterator plays which part.

An iterator of a contraction is one of (the names are those of matmul):
    batch      parallel, in A, B and C         (batch, group)
    rows  m    parallel, in A and C only       (matrix rows, pixels)
    columns n  parallel, in B and C only       (matrix columns, output channels)
    k          reduction
where A and B are the two factors and C the output. A convolution is a contraction whose A is read at
sums of iterators; nothing else distinguishes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import BlockArgument, SSAValue

from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.nest import NestOp


@dataclass(frozen=True)
class Contraction:
    """The factors' positions in `ins`, and each iterator's part, as positions in the nest."""

    a: int
    b: int
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reductions: tuple[int, ...]

    def swapped(self) -> Contraction:
        """The same with A and B exchanged, and so rows and columns."""
        return Contraction(self.b, self.a, self.batch, self.columns, self.rows, self.reductions)


def match_contraction(nest: NestOp, *, or_narrow: bool = False) -> Contraction | None:
    """`nest` as a contraction of floats, or None when its body is anything but `acc + a * b`.

    None, too, where an index is read: of such an operand the map does not say how it moves. `or_narrow`: or
    one of integers, or of floats, that are widened to those of the sum.
    """
    factors = _factors(nest) or (_narrow(nest) if or_narrow else None)
    if factors is None or not nest.has_reduction or isinstance(nest.writes.data[0].init, NoneAttr):
        return None
    a, b = factors
    in_a, in_b = nest.read_map(a).used_dims(), nest.read_map(b).used_dims()
    parts: dict[str, list[int]] = {"batch": [], "rows": [], "columns": [], "k": []}
    for position, iterator in enumerate(nest.iterators):
        if iterator.is_reduction:
            parts["k"].append(position)
        elif position in in_a and position in in_b:
            parts["batch"].append(position)
        elif position in in_b:
            parts["columns"].append(position)
        elif position in in_a:
            parts["rows"].append(position)
        else:
            parts["batch"].append(position)  # of size 1, or a broadcast of the whole product
    return Contraction(a, b, *(tuple(parts[name]) for name in ("batch", "rows", "columns", "k")))


def _factors(nest: NestOp) -> tuple[int, int] | None:
    """The two operands that the body multiplies and adds to its accumulator."""
    return _multiplied(nest, arith.AddfOp, arith.MulfOp, ())


def _narrow(nest: NestOp) -> tuple[int, int] | None:
    whole = _multiplied(nest, arith.AddiOp, arith.MuliOp, (arith.ExtSIOp, arith.ExtUIOp))
    return whole or _multiplied(nest, arith.AddfOp, arith.MulfOp, (arith.ExtFOp,))


def _multiplied(
    nest: NestOp,
    add: type[arith.AddfOp | arith.AddiOp],
    multiply: type[arith.MulfOp | arith.MuliOp],
    widen: tuple[type[arith.ExtSIOp | arith.ExtUIOp | arith.ExtFOp], ...],
) -> tuple[int, int] | None:
    """The two operands, maybe widened, of which the body is a sum of products."""
    if len(nest.outs) != 1 or is_indirect(nest):
        return None
    (accumulator,) = nest.accumulators(nest.body)
    (yielded,) = nest.yielded(nest.body)
    total = yielded.owner
    if not isinstance(total, add):
        return None
    product = _other(total.lhs, total.rhs, accumulator)
    if product is None or not isinstance(multiplied := product.owner, multiply):
        return None
    factors, widened = [multiplied.lhs, multiplied.rhs], 0
    for at, value in enumerate(factors):
        if isinstance(owner := value.owner, widen):
            factors[at], widened = owner.input, widened + 1
    elements = nest.element_arguments(nest.body)
    first, second = (_position(value, elements) for value in factors)
    count = sum(1 for _ in nest.body.block.ops)
    if first is None or second is None or first == second or count != 3 + widened:
        return None
    return first, second


def _other(left: SSAValue, right: SSAValue, known: SSAValue) -> SSAValue | None:
    if left is known:
        return right
    return left if right is known else None


def _position(value: SSAValue, elements: tuple[BlockArgument, ...]) -> int | None:
    return elements.index(value) if value in elements else None
