"""Folders that are written whole or not at all; those of an earlier fault are replaced."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inarch import __version__
from inarch.core.errors import EnvironmentFault

MARK = "reproducer.json"
"""The file of a folder that shows a fault."""
SCHEMA = "inarch.reproducer/1"


def is_reproducer(folder: Path) -> bool:
    """Whether `inarch verify` has written it to show a fault."""
    return (folder / MARK).is_file()


def check_free(folder: Path) -> None:
    """Raises EnvironmentFault for what is there already, and is not the reproducer of an earlier fault."""
    if folder.exists() and not is_reproducer(folder):
        raise EnvironmentFault(
            "exists already, and is no reproducer; remove it, or name another folder with -o",
            where=str(folder),
        )


@contextmanager
def new_folder(folder: Path, *, shows_fault: bool = False) -> Generator[Path]:
    """A folder beside `folder` to write to, which becomes it in the end, unless something is raised.

    `shows_fault`: it takes the place of another one that does. Raises EnvironmentFault where there is
    another thing, or nothing can be written.
    """
    if shows_fault:
        check_free(folder)
    elif folder.exists():
        raise EnvironmentFault(
            "exists already; name another folder, or remove it", where=str(folder)
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise EnvironmentFault(f"cannot be written: {error.strerror}", where=str(folder)) from error
    try:
        if shows_fault:
            facts = {"schema": SCHEMA, "inarch": __version__}
            (made / MARK).write_text(json.dumps(facts) + "\n")
        yield made
        made.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def copied(paths: Sequence[Path], folder: Path) -> list[str]:
    """The files in `folder`, each under its name, which may stand for something; relative to its parent."""
    names: list[str] = []
    for path in paths:
        place = folder
        while (place / path.name).exists():
            place = place / "more"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place / path.name)
        names.append((place / path.name).relative_to(folder.parent).as_posix())
    return names
