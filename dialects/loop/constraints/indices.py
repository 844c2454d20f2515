"""C11 and C12 of `loop.nest`: where `at(n)` may stand, what operand n must be, what is written there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap, AffineSymExpr

from inarch.dialects.loop.access import WriteAttr, number_of
from inarch.dialects.loop.indirect import picks_of
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.ir.require import require
from inarch.ir.types import i64

if TYPE_CHECKING:  # it imports us
    from inarch.dialects.loop.nest import NestOp


def check_indices(nest: NestOp) -> None:
    """C11 and C12. Raises VerifyException."""
    for operand, read in enumerate(nest.reads):
        if read.is_indirect:
            what = f"operand {operand}"
            require(not read.is_padded, "C11", f"expected no pad of {what}, whose index is clamped")
            _check_index(nest, read.map.data, nest.ins[operand], what)
    for position, write in enumerate(nest.writes):
        if write.is_indirect:
            what = f"output {position}"
            _check_scatter(nest, write, what)
            _check_index(nest, write.map.data, nest.outs[position], what)


def _check_scatter(nest: NestOp, write: WriteAttr, what: str) -> None:
    """A point of it goes on from what the element holds, and is nothing where there is none."""
    require(number_of(write.init) is None, "C12", f"expected no init of {what}, written at(n)")
    message = f"expected no clip of {what}: what is outside is dropped"
    require(not write.clips, "C12", message)
    count = len(nest.writes)
    message = f"expected {what}, written at(n), to be the only one, found {count}"
    require(count == 1, "C12", message)
    reductions = ", ".join(each.label.data for each in nest.iterators if each.is_reduction)
    message = f"expected no reduction beside a write at(n), found {reductions}; make it a scan"
    require(not reductions, "C12", message)


def _check_index(nest: NestOp, index: AffineMap, value: SSAValue, what: str) -> None:
    for expr in index.results:
        is_sum = any(isinstance(part, AffineSymExpr) for part in expr.dfs())
        is_alone = isinstance(expr, AffineSymExpr) or not is_sum
        require(is_alone, "C11", f"expected at(n) alone in a dimension of {what}, found {expr}")
    picks = picks_of(index)
    last = max(picks.values(), default=-1)
    message = "expected {} symbols of {}, up to the last at(n), found {}"
    require(index.num_symbols == last + 1, "C11", message, last + 1, what, index)
    shape = buffer_shape(value)
    runs = all(it.size.data for it in nest.iterators if not it.is_reduction)
    for axis, named in picks.items():
        _check_named(nest, named, what)
        has_place = axis >= len(shape) or shape[axis] > 0 or not runs  # C2 counts dimensions
        message = f"expected an element of dimension {axis} of {what} to pick, found none"
        require(has_place, "C11", message)


def _check_named(nest: NestOp, named: int, what: str) -> None:
    count = len(nest.reads)
    message = f"expected an index of {what} in one of {count} operands, found at({named})"
    require(named < count, "C11", message)
    element = memref_of(nest.ins[named]).element_type
    message = f"expected operand {named}, an index of {what}, to be i32 or i64, found {element}"
    require(element in (i32, i64), "C11", message)
    message = f"expected operand {named}, an index of {what}, to be read at linear indices"
    require(not nest.reads.data[named].is_indirect, "C11", message)
