"""The tables of everything that can be added, with those of the layers above the driver."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from inarch.core.blame import blamed as blamed_in
from inarch.core.errors import PluginError, has_compiler
from inarch.core.plugins import Extensions, load_file


def kinds() -> dict[str, Extensions[object]]:
    """Every table, by the plural that `inarch list` takes; nothing in them is imported yet.

    Where there is no compiler, those of what runs artifacts.
    """
    from inarch.tools.commands import COMMANDS

    if not has_compiler():
        from inarch.runtime.loaders import LOADERS

        return {"commands": COMMANDS, "loaders": LOADERS}  # pyright: ignore[reportReturnType]
    from inarch.benchmark.layers import LAYER_SETS
    from inarch.driver import extensions
    from inarch.tuning.executor import EXECUTORS

    found: dict[str, Extensions[object]] = {
        **extensions.kinds(),
        "commands": COMMANDS,
        "executors": EXECUTORS,
        "layer-sets": LAYER_SETS,
    }  # pyright: ignore[reportAssignmentType] - a table of T is read as a table of objects
    return dict(sorted(found.items()))


def load_files(paths: Iterable[Path | str]) -> None:
    """Adds what each file of `--load` defines to the tables of its kinds."""
    for path in paths:
        load_file(Path(path), kinds())


def blamed(error: BaseException) -> PluginError | None:
    """The error as that of the plugin whose code raised it, if it was a plugin's."""
    return blamed_in(error, kinds().values())
