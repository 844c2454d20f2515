"""The tables of everything that can be added to Inarch, by the plural that `inarch list` takes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from inarch.core.plugins import Extensions, load_file

_TABLES = {
    "algorithms": ("inarch.passes.lower.algorithm", "ALGORITHMS"),
    "backends": ("inarch.backends", "BACKENDS"),
    "definitions": ("inarch.definitions.frame", "FAMILIES"),
    "dialects": ("inarch.dialects", "DIALECTS"),
    "dtypes": ("inarch.core.dtypes", "STORED"),
    "frontends": ("inarch.frontends", "FRONTENDS"),
    "functions": ("inarch.core.scalars.functions", "OF_OTHERS"),
    "hosts": ("inarch.backends", "HOSTS"),
    "loaders": ("inarch.runtime.loaders", "LOADERS"),
    "lowerings": ("inarch.passes.lower.graph_to_loop", "RULES"),
    "machines": ("inarch.machine.machine_file", "MACHINES"),
    "microkernels": ("inarch.microkernel.table", "MICROKERNELS"),
    "onnx-operators": ("inarch.frontends.onnx.ops", "FAMILIES"),
    "passes": ("inarch.passes", "PASSES"),
    "steps": ("inarch.passes.schedule.language.step", "STEPS"),
    "targets": ("inarch.machine.architecture", "TARGETS"),
    "templates": ("inarch.microkernel.table", "TEMPLATES"),
}
"""Where each is."""


def kinds() -> dict[str, Extensions[object]]:
    """Every table of this layer and those below; nothing in them is imported yet.

    `inarch.tools.extensions` adds those of the layers above.
    """
    return {kind: getattr(import_module(home), name) for kind, (home, name) in _TABLES.items()}


def has_loaded() -> bool:
    """Whether a file was loaded into any of them; those that nobody has imported have none."""
    found = (getattr(sys.modules.get(home), name, None) for home, name in _TABLES.values())
    return any(table is not None and table.loaded for table in found)


def load_files(paths: Iterable[Path | str]) -> None:
    """Adds what each file of `--load` defines to the tables of its kinds."""
    for path in paths:
        load_file(Path(path), kinds())
