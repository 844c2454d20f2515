"""What the pipeline does to an op before `tensorize`: passes on graphs ask what kernels make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.core.once import cached_property
from inarch.ir.report.facts import facts_of

FIRST, END = "graph-to-loop", "tensorize"
_LEFT_OUT = ("apply-schedule", "tile-and-fuse")
"""A schedule is of the whole program, and tiles are turns of nests, of which whole ones are weighed."""


@dataclass(frozen=True)
class Lowering:
    """A fact: the pipeline that runs, which says from `FIRST` on what is done before `END`."""

    pipeline: Callable[[], Sequence[ModulePass]]

    @cached_property
    def passes(self) -> tuple[ModulePass, ...]:
        """From `FIRST` to before `END`, but for those that mean nothing for an op alone."""
        every = list(self.pipeline())
        names = [one.name for one in every]
        found = every[names.index(FIRST) : names.index(END)]
        return tuple(one for one in found if one.name not in _LEFT_OUT)


def lower_trial(context: Context, trial_context: Context, trial: ModuleOp) -> None:
    """Lowers a program of an op alone as the pipeline that runs on `context` does. Raises InarchError.

    Of one that is on loops already the first pass changes nothing.
    """
    known = facts_of(context).get(Lowering)
    assert known is not None, "`run_pipeline` has said what runs"
    for one in known.passes:
        one.apply(trial_context, trial)
