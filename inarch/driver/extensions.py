"""The tables of everything that can be added to Inarch, by the plural that `inarch list` takes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from inarch.core.plugins import Extensions, load_file


def kinds() -> dict[str, Extensions[object]]:
    """Every table of this layer and those below; nothing in them is imported yet.

    `inarch.tools.extensions` adds those of the layers above.
    """
    from inarch.backends import BACKENDS, HOSTS
    from inarch.definitions.frame import FAMILIES as DEFINITIONS
    from inarch.dialects import DIALECTS
    from inarch.frontends import FRONTENDS
    from inarch.frontends.onnx.ops import FAMILIES as OPERATORS
    from inarch.machine.architecture import TARGETS
    from inarch.machine.machine_file import MACHINES
    from inarch.microkernel.table import MICROKERNELS, TEMPLATES
    from inarch.passes import PASSES
    from inarch.passes.lower.graph_to_loop import RULES
    from inarch.passes.schedule.language.step import STEPS
    from inarch.runtime.loaders import LOADERS

    return {
        "backends": BACKENDS,
        "definitions": DEFINITIONS,
        "dialects": DIALECTS,
        "frontends": FRONTENDS,
        "hosts": HOSTS,
        "loaders": LOADERS,
        "lowerings": RULES,
        "machines": MACHINES,
        "microkernels": MICROKERNELS,
        "onnx-operators": OPERATORS,
        "passes": PASSES,
        "steps": STEPS,
        "targets": TARGETS,
        "templates": TEMPLATES,
    }  # pyright: ignore[reportReturnType] - a table of T is read as a table of objects


def load_files(paths: Iterable[Path | str]) -> None:
    """Adds what each file of `--load` defines to the tables of its kinds."""
    for path in paths:
        load_file(Path(path), kinds())
