"""`unroll`: copies of the body instead of a loop, of an iterator or of an explicit loop."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr

from inarch.dialects.loop.control import MAX_COPIES, ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.passes.schedule.language.keeping import keep
from inarch.passes.schedule.language.modes import set_mode, sum_of
from inarch.passes.schedule.language.places import (
    Loops,
    error_of,
    iterator_of,
    loop_name,
    loop_of,
    numbers_of,
)
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words


def unroll(op: Loops, iterator: str) -> Loops:
    """Writes each iteration of a loop, or of an iterator of a nest, as code of its own, in order.

    Raises UsageError for a name, InarchError for a scan, for too many copies, and for a loop that is shared.
    """
    loop = loop_of(op, iterator)
    if loop is not None:
        _unroll_loop(loop)
        return op
    assert isinstance(op, NestOp)
    position = iterator_of(op, iterator)
    old = op.iterators.data[position]
    if old.is_scan:
        why = sum_of(op, position)
        raise error_of(op, f"expected a parallel iterator or a reduction, found a scan: {why}")
    if old.size.data > MAX_COPIES:
        found = f"found {iterator} = {old.size.data}; split it first"
        raise error_of(op, f"expected at most {MAX_COPIES} copies, {found}")
    set_mode(op, position, "unroll")
    return op


def _unroll_loop(loop: ForOp) -> None:
    name, mode = loop_name(loop), loop.mode
    if mode.data == "parallel":
        raise error_of(
            loop, f"expected a serial loop, found '{name}', whose iterations threads share"
        )
    numbers_of(loop)
    loop.mode = StringAttr("unroll")
    copies = max(each.copies for each in loop.walk() if isinstance(each, ForOp))
    if copies > MAX_COPIES:
        loop.mode = mode
        found = f"found {copies}; split {name} first"
        raise error_of(loop, f"expected at most {MAX_COPIES} copies of the body of {name}, {found}")
    keep(loop)


def _read(words: Words) -> Action:
    iterator = words.name("an iterator")
    return lambda _, op: unroll(op, iterator)


STEP = Step("unroll ITERATOR", _read)


@dataclass(frozen=True)
class UnrollPass(StepPass):
    """Unrolls an iterator of a nest, or a loop, that is named.

    `nest`: as for `split`. `iterator`: which one of it.
    """

    iterator: str

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        return unroll(op, self.iterator)
