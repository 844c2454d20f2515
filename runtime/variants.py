"""Which variant of a program runs here: the best that this CPU can, or the one that INARCH_TARGET names."""

from __future__ import annotations

import os
from collections.abc import Sequence

from inarch.artifact import Artifact
from inarch.artifact.manifest import Manifest
from inarch.core.errors import EnvironmentFault, UsageError
from inarch.machine.target import check_features, native, parse, this_processor

VARIABLE = "INARCH_TARGET"
"""The target of the variant to take, for tests and comparisons; a file with one program has no choice."""


def best(artifact: Artifact) -> Artifact:
    """The first of the variants that this CPU can run. Raises EnvironmentFault where it can run none."""
    programs = artifact.manifest.programs
    if len(programs) == 1:
        return artifact
    asked = os.environ.get(VARIABLE)
    if asked:
        return artifact.program(_named(asked, programs, artifact.where))
    missing = [lacks(program) for program in programs]
    for number, each in enumerate(missing):
        if not each:
            return artifact.program(number)
    needs = "; ".join(
        f"{program.target} needs {', '.join(each)}"
        for program, each in zip(programs, missing, strict=True)
    )
    raise EnvironmentFault(
        f"expected code for this CPU, found code for others ({needs}); "
        f"recompile with --target {native().level}",
        where=artifact.where,
    )


def lacks(manifest: Manifest) -> list[str]:
    """What this machine lacks to run the program, sorted; empty when it can."""
    try:
        target = parse(manifest.target)
    except UsageError:
        target = None  # a level that a later Inarch knows; its features say what is needed
    if target is not None and target.architecture not in ("generic", this_processor().architecture):
        return [target.architecture]
    return check_features(manifest.features)


def _named(target: str, programs: Sequence[Manifest], where: str) -> int:
    targets = [program.target for program in programs]
    if target not in targets:
        raise EnvironmentFault(
            f"{VARIABLE}: expected one of {', '.join(targets)}, found '{target}'", where=where
        )
    return targets.index(target)
