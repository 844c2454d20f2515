"""The files of a job: all that a worker needs of this computer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inarch.core.errors import UsageError
from inarch.core.outside.regular import is_inside, read_regular
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.options import ONLY_HOW, Options
from inarch.frontends import FilesRead
from inarch.ir.report.facts import facts_of

_BESIDE = (".so", ".a", ".o", ".h")
"""What a kernel's file may name that lies beside it: libraries and headers."""


def files_of(
    model: Path, loads: Sequence[Path], options: Options
) -> tuple[dict[str, bytes], tuple[str, ...], dict[str, Any]]:
    """Name -> bytes; the names of those to be loaded; the settings with names for paths.

    The model and all that its frontend reads beside it, the loaded files and libraries beside them, and what
    settings name. Raises OSError for a file that cannot be read, and what importing the model raises.
    """
    files = {model.name: read_regular(model)}
    for path in _read_with(model, options):
        name = os.path.relpath(path, model.parent)
        if not is_inside(name):
            raise UsageError(
                f"expected what belongs to the model in its folder, found '{path}'",
                where=str(model),
            )
        files[name] = read_regular(path)
    names: list[str] = []
    for number, path in enumerate(loads):
        folder = _apart(f"load{number}", files)
        names.append(f"{folder}/{path.name}")
        files[names[-1]] = read_regular(path)
        for beside in sorted(path.parent.glob("*")):
            if beside.suffix in _BESIDE and beside.is_file():
                files[f"{folder}/{beside.name}"] = read_regular(beside)
    own: dict[str, Any] = {
        name: value for name, value in options.given().items() if name not in ONLY_HOW
    }
    for option in ("schedule", "machine"):
        value = own.get(option)
        if value is not None and (option == "schedule" or str(value).endswith(".toml")):
            own[option] = f"{_apart(option, files)}/{Path(value).name}"
            files[own[option]] = read_regular(Path(value))
    return files, tuple(names), own


def _apart(folder: str, files: Mapping[str, bytes]) -> str:
    """A folder that nothing is in: what a model names must not lie beside code that is loaded."""
    while any(name.split("/")[0] == folder for name in files):
        folder += "_"
    return folder


def _read_with(model: Path, options: Options) -> Sequence[Path]:
    """The files that the model's frontend reads besides it."""
    context = new_context()
    import_model(model, context, options)
    read = facts_of(context).get(FilesRead)
    return tuple(read.states) if read is not None else ()
