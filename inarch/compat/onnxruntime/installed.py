"""`import onnxruntime` is Inarch's: here, and in the Python processes that this one starts."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "path"
"""Has the package `onnxruntime`, and says its version: what stands before `site-packages` wins."""


def install() -> None:
    """Puts the folder first, for this process and for its children (by `PYTHONPATH`).

    Modules that have imported another onnxruntime already keep it.
    """
    folder = str(FOLDER)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)
    others = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *(one for one in others if one != folder)])
    for name in list(sys.modules):
        if name == "onnxruntime" or name.startswith("onnxruntime."):
            del sys.modules[name]
    importlib.invalidate_caches()
