"""A step of a schedule: its words, and what it does to a nest or a loop; and how one is done by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import InarchError
from inarch.core.plugins import Extensions
from inarch.ir.passes import Pass
from inarch.passes.schedule.language.modes import check_done
from inarch.passes.schedule.language.places import Loops, find, place_of_text
from inarch.passes.schedule.language.words import Words

Action: TypeAlias = Callable[[ModuleOp, Loops], Loops]
"""Changes a program where it stands; returns what the steps behind it go on with."""


@dataclass(frozen=True)
class Step:
    """A word of schedules."""

    usage: str
    """`split ITERATOR FACTOR [-> OUTER INNER]`."""
    read: Callable[[Words], Action]
    """Reads what is behind the word."""


STEPS: Extensions[Step] = Extensions("inarch.passes.schedule", "STEP")


def transform(module: ModuleOp, name: str, place: str, action: Action) -> None:
    """Does one step as a pass, at what its option `nest` says. Raises InarchError, which names the pass."""
    try:
        check_done(module, action(module, find(module, place_of_text(place))))
    except InarchError as error:
        raise type(error)(f"{name}: {error.message}", where=error.where) from error


@dataclass(frozen=True)
class StepPass(Pass):
    """A step by itself, as a pass: `run` does it.

    `nest` says where: a location, as LOCATION or LOCATION[NUMBER], or @FUNCTION[NUMBER].
    """

    nest: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        transform(op, self.name, self.nest, self.run)

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        """An `Action`."""
        raise NotImplementedError
