"""Where OpenBLAS is: the PyPI package scipy-openblas32, found without importing it.

Its `__init__` opens the library with RTLD_GLOBAL, which would put its symbols before everybody
else's; nothing here does that, nor opens the library at all.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from inarch.core.errors import EnvironmentFault

PACKAGE = "scipy-openblas32"
_MODULE = "scipy_openblas32"

MISSING = (
    f"backend 'cblas' needs OpenBLAS from the package {PACKAGE}, which is not installed; "
    f"run `pip install {PACKAGE}`"
)


def find_library() -> Path | None:
    """The shared library of the installed package; None where there is none."""
    spec = importlib.util.find_spec(_MODULE)
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        for pattern in ("libscipy_openblas*.so", "libscipy_openblas*.dylib"):
            for path in sorted(Path(folder, "lib").glob(pattern)):
                return path.absolute()
    return None


def library() -> Path:
    """The shared library. Raises EnvironmentFault when the package is not installed."""
    path = find_library()
    if path is None:
        raise EnvironmentFault(MISSING)
    return path


def status() -> str:
    """`ready`, or what to install."""
    return "ready" if find_library() is not None else f"run `pip install {PACKAGE}`"
