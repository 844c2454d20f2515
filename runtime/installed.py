"""Whether the environment has one of the two distributions, `inarch` and `inarch-runtime`, as it should."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path


@cache
def check_alone(folder: Path = Path(__file__).parents[2]) -> None:
    """Warns, once for a folder of packages, where both are in it: one's files are over the other's."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:  # of a zip file
        return
    found = [name.partition("-")[0] for name in names if name.endswith(".dist-info")]
    if "inarch" in found and "inarch_runtime" in found:
        warnings.warn(
            f"inarch and inarch-runtime are both installed in '{folder}', which have the same files: what "
            "came last is what runs; pip uninstall both, and install the one that you need",
            stacklevel=3,
        )
