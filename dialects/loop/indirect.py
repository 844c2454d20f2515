"""Indices that a nest reads: `ins(%ids[i], %table[at(0), j])` reads the row of %table that %ids[i] names.

So does `outs(%table[at(0), j])` write it. In a map, `at(n)` is the symbol n, the element of operand n. What
is linear in the iterators has none: who asks such a map for coefficients gets an error, not a number. What
can be said without them is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.ir.affine import AffineExpr, AffineMap, AffineSymExpr

from inarch.ir.index.affine import indirect_map
from inarch.ir.index.linear import Linear, linear_map

if TYPE_CHECKING:  # it imports us
    from inarch.dialects.loop.access import ReadAttr, WriteAttr
    from inarch.dialects.loop.nest import NestOp


def picks_of(index: AffineMap) -> dict[int, int]:
    """Dimension -> the operand whose element is the index there."""
    if not index.num_symbols:
        return {}
    results = enumerate(index.results)
    return {axis: expr.position for axis, expr in results if isinstance(expr, AffineSymExpr)}


def base_of(index: AffineMap) -> AffineMap:
    """The map with 0 for the indices that are read."""
    if not index.num_symbols:
        return index
    dims = [AffineExpr.dimension(position) for position in range(index.num_dims)]
    zeros = [AffineExpr.constant(0)] * index.num_symbols
    return index.replace_dims_and_symbols(dims, zeros, index.num_dims, 0)


def picked(index: int, size: int) -> int:
    """The place at which an index reads: negative ones count from the end, others are clamped.

    >>> [picked(index, 4) for index in (0, 3, -1, -4, -9, 7)]
    [0, 3, 3, 0, 0, 3]
    """
    return min(max(index + size if index < 0 else index, 0), size - 1)


def over_all(index: AffineMap, shape: Sequence[int]) -> tuple[tuple[Linear, ...], tuple[int, ...]]:
    """A map that covers `index`: over its iterators and one a picked dimension, and the sizes of these."""
    picks = picks_of(index)
    count = index.num_dims + len(picks)
    forms = [
        Linear((*form.coefficients, *(0,) * len(picks)), form.constant)
        for form in linear_map(base_of(index))
    ]
    for extra, axis in enumerate(picks):
        forms[axis] = Linear.iterator(index.num_dims + extra, count)
    return tuple(forms), tuple(shape[axis] for axis in picks)


def renamed(index: AffineMap, places: Mapping[int, int]) -> AffineMap:
    """The map where operand n is operand `places[n]`."""
    results = [
        AffineExpr.symbol(places[expr.position]) if isinstance(expr, AffineSymExpr) else expr
        for expr in index.results
    ]
    return indirect_map(index.num_dims, results)


# ---------------------------------------------------------------------------------- of nests


def index_operands(accesses: Iterable[ReadAttr | WriteAttr]) -> set[int]:
    """The operands whose elements are indices of these accesses."""
    return {operand for each in accesses for operand in picks_of(each.map.data).values()}


def is_indirect(nest: NestOp) -> bool:
    """Whether some index is read, of an operand or of an output."""
    return any(read.is_indirect for read in nest.reads) or scatters(nest)


def scatters(nest: NestOp) -> bool:
    """Whether it writes at an index that is read."""
    return any(write.is_indirect for write in nest.writes)


def iterators_of(nest: NestOp, position: int) -> set[int]:
    """The iterators that the element of an operand varies with, by way of its indices too."""
    return _varying(nest, nest.read_map(position))


def iterators_written(nest: NestOp, position: int) -> set[int]:
    """The iterators that the place of an output varies with, by way of its indices too."""
    return _varying(nest, nest.write_map(position))


def _varying(nest: NestOp, index: AffineMap) -> set[int]:
    behind = (nest.read_map(operand).used_dims() for operand in picks_of(index).values())
    return set(index.used_dims()).union(*behind)


def used_operands(nest: NestOp, *, finish_only: bool = False) -> set[int]:
    """The operands whose elements the regions use, or that name one which they use or which is written."""
    regions = [nest.body, nest.finish]
    used = {
        position
        for region in regions[finish_only:]
        if region is not None
        for position, argument in enumerate(nest.element_arguments(region))
        if argument.first_use is not None
    }
    accesses = [*(nest.reads.data[position] for position in used), *nest.writes]
    return used | index_operands(accesses)
