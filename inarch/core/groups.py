"""Which groups of entry points packages have, without `importlib.metadata`: 40 ms for most often nothing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_SECTION = re.compile(r"^\s*\[(.*)\]\s*$", re.MULTILINE)


def may_have(group: str, *, below: bool = False) -> bool:
    """Whether a package may add something to `group`, or to those `below` it: False where none does.

    True as well where packages are found otherwise than in folders of `sys.path`.
    """
    if any(hasattr(each, "find_distributions") for each in sys.meta_path if each is not PathFinder):
        return True
    for folder in sys.path:
        try:
            state = os.stat(folder or ".")  # noqa: PTH116 - `Path` takes longer than the call
        except OSError:
            continue
        groups = _groups(os.path.abspath(folder), state.st_mtime_ns)  # noqa: PTH100 - the same
        if groups is None or group in groups:
            return True
        if below and any(each.startswith(f"{group}.") for each in groups):
            return True
    return False


def entry_points_of(group: str) -> Iterable[EntryPoint]:
    """What other distributions add to `group`; nothing where the environment hides it."""
    which = os.environ.get("INARCH_PLUGINS", "all")
    if which not in ("all", "none"):
        raise UsageError(f"INARCH_PLUGINS: expected 'all' or 'none', found '{which}'")
    if which == "none":
        return ()
    if not may_have(group):
        return ()
    from importlib.metadata import entry_points  # it takes a while

    return entry_points(group=group)


@cache
def _groups(folder: str, _changed_ns: int) -> frozenset[str] | None:
    """The groups of the packages in `folder`; None where it is no folder, or has packages in files."""
    found: set[str] = set()
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are what is wanted
    except OSError:
        return None
    for name in names:
        if name.endswith(".egg"):
            return None
        if not name.endswith((".dist-info", ".egg-info")):
            continue
        try:
            text = Path(folder, name, "entry_points.txt").read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError):
            return None
        found.update(_SECTION.findall(text))
    return frozenset(found)
