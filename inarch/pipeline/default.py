"""The pipeline of every compilation, as data: from a model to a planned module, from which C is emitted."""

from __future__ import annotations

from inarch.passes.phases import PHASES
from inarch.pipeline.pipeline import Phase, Pipeline
from inarch.pipeline.registry import find_pass


def default_pipeline() -> Pipeline:
    """Every phase with our passes, without options; those of others are not in it (`placed`)."""
    return Pipeline(
        tuple(
            Phase(phase, tuple(find_pass(name)() for name in names))
            for phase, names in PHASES.items()
        )
    )
