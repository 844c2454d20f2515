"""The mark of what a person has scheduled."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr

from inarch.dialects.loop.keep import KEEP
from inarch.passes.schedule.language.places import Loops


def keep(op: Loops) -> None:
    """Marks a nest or a loop: the passes behind leave it alone."""
    op.attributes[KEEP] = UnitAttr()
