"""A nest as the workload that templates are shown: expressions of a meaning, strides, sizes."""

from __future__ import annotations

import math

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.memory import memref_of
from inarch.ir.types import dtype_of
from inarch.meaning import OPERATORS, Expression
from inarch.microkernel import functions_of
from inarch.microkernel.template import Axis, Operand, Workload
from inarch.passes.tensorize.unify.body import (
    named,
    operations_of,
    split_update,
    unsaid,
    yielded,
)
from inarch.passes.tensorize.unify.strided import StridedNest

OUTPUT = "C"


def workload_of(nest: StridedNest) -> Workload | None:
    """What the nest computes; None where it does not reduce, or no meaning says it.

    A `finish` that no meaning says is left out: it becomes a nest after the calls.
    """
    op = nest.nest
    body, reads = yielded(op, op.body), len(op.ins)
    if not op.has_reduction or unsaid(body) is not None:
        return None
    names = (*(f"A{at}" for at in range(len(nest.reads))), OUTPUT)
    for operator in OPERATORS.values():
        value = split_update(body, operator, reads) if operator is not None else None
        if value is None or operator is None or (update := _expression(value, names)) is None:
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
        last = _expression(yielded(op, op.finish), names) if op.finish is not None else None
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


def _expression(value: SSAValue, names: tuple[str, ...]) -> Expression | None:
    """The value as an expression of elements without indices; None where no meaning says it."""
    found = named(value, names)
    if found is None or unsaid(value) is not None or not all(map(_is_said, functions_of(found))):
        return None
    numbers = [number_of(op.value) for op in operations_of(value) if isinstance(op, ConstantOp)]
    return None if any(number is not None and math.isnan(number) for number in numbers) else found


def _is_said(function: str) -> bool:
    is_cast = function in DTYPES and not DTYPES[function].is_unsigned
    return is_cast or function in OF_MEANINGS
