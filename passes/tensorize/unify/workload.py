"""A nest as the workload that templates are shown: expressions of a meaning, strides, sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inarch.core.dtypes import DTYPES
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.memory import memref_of
from inarch.ir.types import dtype_of
from inarch.meaning import OPERATORS, Apply, Element, Expression, Number
from inarch.microkernel.template import Axis, Operand, Workload
from inarch.passes.tensorize.unify.body import (
    ACCUMULATOR,
    FunctionCall,
    Leaf,
    Literal,
    Tree,
    expression_of,
    split_update,
)
from inarch.passes.tensorize.unify.strided import StridedNest

OUTPUT = "C"


def workload_of(nest: StridedNest) -> Workload | None:
    """What the nest computes; None where it does not reduce, or no meaning says it.

    A `finish` that no meaning says is left out: it becomes a nest after the calls.
    """
    op = nest.nest
    tree = expression_of(op, op.body)
    if not isinstance(tree, FunctionCall) or tree.is_signed is False or not op.has_reduction:
        return None  # a meaning's operators are of signed numbers
    names = (*(f"A{at}" for at in range(len(nest.reads))), OUTPUT)
    for operator in OPERATORS.values():
        value = split_update(tree, operator) if operator is not None else None
        update = _expression(value, names) if value is not None else None
        if update is None or operator is None:
            continue
        operands = {
            name: Operand(
                dtype_of(memref_of(access.buffer).element_type).name,
                access.strides,
                access.is_constant,
            )
            for name, access in zip(names, nest.accesses, strict=True)
        }
        axes = tuple(Axis(axis.size, axis.is_reduction) for axis in nest.axes)
        init = number_of(op.writes.data[0].init)
        finish = expression_of(op, op.finish) if op.finish is not None else None
        last = _expression(finish, names) if finish is not None else None
        found = Workload(axes, operands, OUTPUT, operator, update, _held(init), last)
        return found if all(map(_is_known, operands.values())) else None
    return None


def _held(number: float | None) -> float | None:
    """An init that a meaning can say; another one is a fill before the calls."""
    if number is None or math.isnan(number) or float(number) != number:
        return None  # a double holds not every i64
    return float(number)


def _is_known(operand: Operand) -> bool:
    return operand.dtype in DTYPES and not DTYPES[operand.dtype].is_unsigned


def _expression(tree: Tree, names: Sequence[str]) -> Expression | None:
    """The tree as an expression of elements without indices; None where no meaning says it."""
    if isinstance(tree, Leaf):
        return Element(names[tree.position if tree.position != ACCUMULATOR else -1], ())
    if isinstance(tree, Literal):
        return None if math.isnan(tree.value) else Number(tree.value)
    is_cast = tree.function in DTYPES and not DTYPES[tree.function].is_unsigned
    if tree.is_signed is False or not (is_cast or tree.function in OF_MEANINGS):
        return None
    parts = [_expression(part, names) for part in tree.arguments]
    found = [part for part in parts if part is not None]
    return Apply(tree.function, tuple(found)) if len(found) == len(parts) else None
