"""What the pipeline does to an op before `tensorize`: passes on graphs ask what kernels make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.ir.report.facts import facts_of
from inarch.passes import PASSES
from inarch.passes.phases import PHASES

FIRST, END = "graph-to-loop", "tensorize"
_LEFT_OUT = ("apply-schedule", "tile-and-fuse")
"""A schedule is of the whole program, and tiles are iterations of nests, of which whole ones are weighed."""


@dataclass(frozen=True)
class Lowering:
    """A fact: the passes that run, in order, where that is not those of every compilation."""

    passes: Sequence[ModulePass]


def lower_trial(context: Context, trial_context: Context, trial: ModuleOp) -> None:
    """Lowers a program of an op alone as the pipeline that runs on `context` does. Raises InarchError.

    Of one that is on loops already the first pass changes nothing.
    """
    for one in trial_passes(context):
        one.apply(trial_context, trial)


def trial_passes(context: Context) -> list[ModulePass]:
    """From `FIRST` to before `END`, but for those that mean nothing for an op alone."""
    known = facts_of(context).get(Lowering)
    every = _usual() if known is None else known.passes
    names = [one.name for one in every]
    between = every[names.index(FIRST) : names.index(END)]
    return [one for one in between if one.name not in _LEFT_OUT]


def _usual() -> list[ModulePass]:
    return [PASSES[name]() for phase in ("loop", "padding", "kernel") for name in PHASES[phase]]
