"""One artifact for several targets: the model is compiled for each, and the results become one file."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from inarch.artifact import Artifact
from inarch.artifact.variants import write_variants
from inarch.core.errors import InarchWarning, UsageError
from inarch.core.scratch import scratch
from inarch.driver.built import Built
from inarch.driver.options import Options
from inarch.machine.target import Target
from inarch.passes.lower.algorithm import IdleAlgorithmError

Make = Callable[[Any, Options, Path], Built]
"""Compiles a source for the target of the options into a file."""


def names_of(target: str) -> list[str]:
    """The targets that `x86-64-v2,x86-64-v3` names. Raises UsageError for none between two commas."""
    names = [name.strip() for name in target.split(",")]
    if "" in names:
        raise UsageError(f"target: expected names with a comma between two, found '{target}'")
    return names


def build_variants(
    source: Any,
    output: Path,
    targets: Sequence[tuple[str, Target]],
    options: Options,
    make: Make,
) -> Built:
    """Compiles `source` for each of `targets` (as they were named, and what that means) into `output`.

    The targets with the most features come first: a reader takes the first that its CPU can run. An algorithm
    that is asked for by name is one of some of them. Raises UsageError for a target that is named twice, and
    what `make` raises.
    """
    seen: dict[Target, str] = {}
    for name, target in targets:
        if target in seen:
            raise UsageError(f"target: '{name}' is '{seen[target]}', which is there already")
        seen[target] = name
    ordered = sorted(targets, key=lambda one: -len(one[1].features))
    with ExitStack() as stack:
        # In its folder: it has the room, and weights are copied within one file system.
        folder = stack.enter_context(scratch(".inarch-", output.parent))
        built: list[Built] = []
        artifacts: list[Artifact] = []
        idle: dict[str, list[InarchWarning]] = defaultdict(list)
        for number, (name, _) in enumerate(ordered):
            path, own = folder / f"{number}.inarch", replace(options, target=name)
            while len(built) == number:
                # Compiling a module consumes it.
                given = source.clone() if isinstance(source, ModuleOp) else source
                try:
                    built.append(make(given, own, path))
                except IdleAlgorithmError as error:
                    idle[error.selection].append(_idle(error, name))
                    is_last = len(idle[error.selection]) == len(ordered)
                    if is_last or error.selection not in own.algorithms:  # but in a schedule
                        raise
                    rest = [one for one in own.algorithms if one != error.selection]
                    own = replace(own, algorithms=rest)
            artifacts.append(stack.enter_context(Artifact.open(built[-1].path, check=False)))
        write_variants(output, artifacts)
    for warning in chain.from_iterable(idle.values()):
        warnings.warn(warning, stacklevel=2)
    return replace(built[0], path=output, variants=tuple([_facts(one) for one in built[1:]]))


def _idle(error: IdleAlgorithmError, target: str) -> InarchWarning:
    """Of a target for which an algorithm that is asked for is none."""
    return InarchWarning(f"{error.message}; for {target} others are chosen", where=error.where)


def _facts(built: Built) -> dict[str, Any]:
    """What differs between variants, as JSON."""
    shared = ("path", "name", "host", "passes", "variants")
    return {
        each.name: getattr(built, each.name) for each in fields(built) if each.name not in shared
    }
