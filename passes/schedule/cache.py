"""`cache`: what a nest reads of an operand is copied into a buffer of its own in front of the nest.

    at "conv": cache %x

The copy is the box of all that is read, as the operand lies, and holds the zeros of its padding. In a loop
that `fuse` has made it is of what an iteration reads, and each thread has its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.ir.index.linear import Linear
from inarch.passes.schedule.language.copying import (
    index_of,
    operand_of,
    read_copy,
    read_operand,
)
from inarch.passes.schedule.language.places import Loops, nest_of
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words


def cache(op: Loops, operand: str) -> Loops:
    """Lets a nest read a copy of an operand, which is named, `%x`, or a number from 0 on.

    Raises UsageError for no such operand; InarchError for an index that is read, and for a pad that is not 0.
    """
    op = nest_of(op)
    at = operand_of(op, operand)
    forms = index_of(op, at)
    bounds = [form.bounds(op.sizes) for form in forms]
    shape = [high - low + 1 for low, high in bounds]
    source = [
        Linear(Linear.iterator(axis, len(shape)).coefficients, low)
        for axis, (low, _) in enumerate(bounds)
    ]
    index = [
        Linear(form.coefficients, form.constant - low)
        for form, (low, _) in zip(forms, bounds, strict=True)
    ]
    read_copy(op, at, shape, source, index)
    return op


def _read(words: Words) -> Action:
    operand = read_operand(words)
    return lambda _, op: cache(op, operand)


STEP = Step("cache OPERAND", _read)


@dataclass(frozen=True)
class CachePass(StepPass):
    """Copies what a nest that is named reads of an operand.

    `nest`: as for `split`. `operand`: its name, or its number from 0 on.
    """

    operand: str | int

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        return cache(op, str(self.operand))
