"""The result of a run of the tuner: records, choices measured and choices left, and its time by activity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inarch.driver.keep.records import Record

STARTING, IMPORT, LOWERING = "starting", "import", "lowering"
COMPILING, MEASURING, LISTING = "C compiler", "measuring", "listing choices"
PARTS = (STARTING, IMPORT, LOWERING, COMPILING, MEASURING, LISTING)
"""What a tuner does: all but the last in jobs, `STARTING` is what their processes do beside the others."""


@dataclass(frozen=True)
class Outcome:
    """What a tuner found."""

    records: tuple[Record, ...]
    untuned: float
    """Seconds of the steps of a call, in the last measurement."""
    tuned: float
    trials: tuple[tuple[float, float], ...]
    """Seconds since the beginning, and the best time of the model that is known then, by the untuned one."""
    faults: Mapping[str, str]
    """Op of the model -> why a way of it was left out."""
    jobs: int
    untried: tuple[str, ...] = ()
    """Ops of which there was no time to try anything."""
    measured: int = 0
    """Choices: other ways of a nest, or of what a pass decides of some ops, each by itself."""
    left: int | None = 0
    """Choices that were not measured; None where there was no time to list them."""
    build: float = 0.0
    """Seconds of a job with the untuned model alone."""
    spent: Mapping[str, float] = field(default_factory=dict[str, float])
    """One of `PARTS` -> seconds, of all jobs together."""
    passed: float = 0.0
    """Seconds in all."""

    @property
    def gain(self) -> float:
        """How many times faster."""
        return self.untuned / self.tuned if self.tuned else 1.0

    def time_said(self, budget: float) -> str:
        """A line on the time: the used part of the budget, by activity, and the choices that are left."""
        parts = {name: self.spent[name] for name in PARTS if name in self.spent}
        rest = self.passed - sum(parts.values())
        if rest >= _SHORT:  # several workers spend more than passes
            parts["rest"] = rest
        where = ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts.items())
        left = "the others not listed" if self.left is None else f"{self.left} left"
        used = ", more than" if self.passed > budget else " of"
        return (
            f"{self.passed:.1f} s{used} the budget of {budget:g} s: {where}; {self.jobs} "
            f"job{'s' * (self.jobs != 1)}, a build of the model takes {self.build:.1f} s; "
            f"{self.measured} choices measured, {left}"
        )

    def why_none(self, budget: float) -> str:
        """Why there are no records."""
        if self.untried or self.left is None:
            return f"nothing could be measured in {budget:g} s; give it a longer --budget"
        if self.faults:
            return "nothing that was measured could be kept"
        return "nothing was left to be tuned"


_SHORT = 0.05
"""Seconds that are not worth telling."""
