"""`vectorize`: the points of an iterator of a nest are lanes of vector registers.

They are a power of two: `split` makes them so. Everything that is parallel inside of what the nest sums up is
a vector or unrolled then; of a nest that sums nothing up, the innermost iterators are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.dialects.loop.nest import NestOp
from inarch.passes.loop.nests.arg_reduce import match_arg_reduction, runs_in_lanes
from inarch.passes.schedule.language.modes import set_mode, sum_of
from inarch.passes.schedule.language.places import Loops, error_of, iterator_of, loop_of
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words


def vectorize(op: Loops, iterator: str) -> Loops:
    """Gives an iterator of a nest the mode `vector`.

    Raises UsageError for a name; InarchError for an explicit loop, for a number that is no power of two, and
    for a sum, of which each term waits for the one before.
    """
    if loop_of(op, iterator) is not None or not isinstance(op, NestOp):
        raise error_of(op, f"expected an iterator of a loop.nest, found the loop '{iterator}'")
    position = iterator_of(op, iterator)
    old = op.iterators.data[position]
    if old.is_scan or (old.is_reduction and not _is_search(op, position)):
        kind = old.kind.data
        raise error_of(
            op, f"expected a parallel iterator, found the {kind} {iterator}: {sum_of(op, position)}"
        )
    size = old.size.data
    if not old.is_reduction and (size < 1 or size & (size - 1)):
        raise error_of(
            op, f"expected a power of two of points, found {iterator} = {size}; split it first"
        )
    set_mode(op, position, "vector")
    return op


def _is_search(nest: NestOp, position: int) -> bool:
    found = match_arg_reduction(nest)
    return found is not None and runs_in_lanes(nest, found, position)


def _read(words: Words) -> Action:
    iterator = words.name("an iterator")
    return lambda _, op: vectorize(op, iterator)


STEP = Step("vectorize ITERATOR", _read)


@dataclass(frozen=True)
class VectorizePass(StepPass):
    """Makes an iterator of a nest that is named run in lanes.

    `nest`: as for `split`. `iterator`: which one of it.
    """

    iterator: str

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        return vectorize(op, self.iterator)
