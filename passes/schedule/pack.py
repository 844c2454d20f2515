"""`pack`: an operand is copied into the order in which a nest reads it.

    at "dense": pack %w no k ni        w[k, no * 16 + ni] becomes p[no, k, ni]

The copy has a dimension for each iterator that is named, outermost first: all that the operand varies with.
What several points read is there several times (a convolution's windows side by side).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import UsageError
from inarch.ir.index.linear import Linear
from inarch.passes.schedule.language.copying import (
    index_of,
    operand_of,
    read_copy,
    read_operand,
)
from inarch.passes.schedule.language.places import Loops, iterator_of, nest_of
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words


def pack(op: Loops, operand: str, iterators: Sequence[str]) -> Loops:
    """Lets a nest read a copy of an operand (`%w`, or a number from 0 on) whose dimensions are `iterators`.

    Raises UsageError for names that are not there, or not all that the operand varies with; InarchError for
    an index that is read, and for a pad that is not 0.
    """
    op = nest_of(op)
    at = operand_of(op, operand)
    positions = [iterator_of(op, name) for name in iterators]
    if len(set(positions)) < len(positions):
        raise UsageError(f"expected each iterator once, found {' '.join(iterators)}")
    forms = index_of(op, at)
    for i, name in enumerate(op.names):
        if i not in positions and op.sizes[i] > 1 and any(form.coefficients[i] for form in forms):
            found = " ".join(iterators)
            raise UsageError(
                f"expected all iterators that {operand} varies with, also {name}, found {found}"
            )
    for i, name in zip(positions, iterators, strict=True):
        if op.sizes[i] > 1 and not any(form.coefficients[i] for form in forms):
            raise UsageError(f"expected iterators that {operand} varies with, found also {name}")
    source = [
        Linear(tuple(form.coefficients[i] for i in positions), form.constant) for form in forms
    ]
    index = [Linear.iterator(i, len(op.sizes)) for i in positions]
    read_copy(op, at, [op.sizes[i] for i in positions], source, index)
    return op


def _read(words: Words) -> Action:
    operand, iterators = read_operand(words), words.names("an iterator")
    return lambda _, op: pack(op, operand, iterators)


STEP = Step("pack OPERAND ITERATOR [ITERATOR ...]", _read)


@dataclass(frozen=True)
class PackPass(StepPass):
    """Copies an operand of a nest that is named into the order of iterators.

    `nest`: as for `split`. `operand`: its name, or its number from 0 on. `iterators`: the dimensions of the
    copy.
    """

    operand: str | int
    iterators: tuple[str, ...]

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        return pack(op, str(self.operand), self.iterators)
