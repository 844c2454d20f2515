"""How compiled programs run: `module.load` opens an artifact and gives functions on arrays.

Nothing here knows the compiler: a program runs with NumPy, cffi and this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from inarch.runtime.module import Module


def load_module(path: Path | str, fmt: str | None = None) -> Module:
    """The module in a file, as TVM's `load_module`: `load_module("a.examplejson", "examplejson")`.

    `fmt` names the loader; by default it is the file's suffix where a loader is called so, and an artifact
    otherwise. Raises UsageError for an unknown format, with those there are, and else as
    `inarch.runtime.module.load`.
    """
    from pathlib import Path

    from inarch.runtime.loaders import LOADERS
    from inarch.runtime.module import load

    suffix = Path(path).suffix.removeprefix(".")
    return load(path, format=fmt or (suffix if suffix in LOADERS else None))
