"""One artifact for several targets: the model is compiled for each, and the results become one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from inarch.artifact import Artifact
from inarch.artifact.variants import write_variants
from inarch.core.errors import UsageError
from inarch.core.scratch import scratch
from inarch.driver.built import Built
from inarch.machine.target import Target

Make = Callable[[Any, str, Path], Built]
"""Compiles a source for the target of that name into a file."""


def names_of(target: str) -> list[str]:
    """The targets that `x86-64-v2,x86-64-v3` names. Raises UsageError for none between two commas."""
    names = [name.strip() for name in target.split(",")]
    if "" in names:
        raise UsageError(f"target: expected names with a comma between two, found '{target}'")
    return names


def build_variants(
    source: Any, output: Path, targets: Sequence[tuple[str, Target]], make: Make
) -> Built:
    """Compiles `source` for each of `targets` (as they were named, and what that means) into `output`.

    The targets with the most features come first: a reader takes the first that its CPU can run. Raises
    UsageError for a target that is named twice, and what `make` raises.
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
        for number, (name, _) in enumerate(ordered):
            is_last = number == len(ordered) - 1
            # Compiling a module consumes it.
            own = source.clone() if isinstance(source, ModuleOp) and not is_last else source
            built.append(make(own, name, folder / f"{number}.inarch"))
            artifacts.append(stack.enter_context(Artifact.open(built[-1].path, check=False)))
        write_variants(output, artifacts)
    return replace(built[0], path=output, variants=tuple([_facts(one) for one in built[1:]]))


def _facts(built: Built) -> dict[str, Any]:
    """What differs between variants, as JSON."""
    shared = ("path", "name", "host", "passes", "variants")
    return {
        each.name: getattr(built, each.name) for each in fields(built) if each.name not in shared
    }
