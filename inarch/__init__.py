"""Inarch: a multi-level model compiler onto which people graft their own codegens and microkernels.

    module = inarch.compile("model.onnx")      # an ONNX file, MLIR text, or an xDSL module
    probabilities = module(image)              # NumPy in, NumPy out
    module.save("model.inarch")
    inarch.load("model.inarch")

Importing this costs next to nothing: everything below is imported when first used.

>>> import inarch
>>> issubclass(inarch.UsageError, inarch.InarchError)
True
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

# First, as a thread may fork while another one imports the rest.
import inarch.core.forks  # noqa: F401  # pyright: ignore[reportUnusedImport]

if TYPE_CHECKING:
    from inarch.computation import compute
    from inarch.core.errors import (
        ArgumentError,
        EnvironmentFault,
        InarchError,
        InternalError,
        UnsupportedError,
        UsageError,
    )
    from inarch.driver.compile import compile
    from inarch.runtime.module import Module, load
    from inarch.runtime.threads import threads

__version__ = "0.2.0.dev0"

BEGAN_NS = time.time_ns()
"""When this process began to read Inarch: a file that changes later may not be what runs."""

_HOMES = {
    "compile": "inarch.driver.compile",
    "compute": "inarch.computation",
    "load": "inarch.runtime.module",
    "threads": "inarch.runtime.threads",
    "Module": "inarch.runtime.module",
    "ArgumentError": "inarch.core.errors",
    "EnvironmentFault": "inarch.core.errors",
    "InarchError": "inarch.core.errors",
    "InternalError": "inarch.core.errors",
    "UnsupportedError": "inarch.core.errors",
    "UsageError": "inarch.core.errors",
}

__all__ = [
    "ArgumentError",
    "EnvironmentFault",
    "InarchError",
    "InternalError",
    "Module",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "compile",
    "compute",
    "load",
    "threads",
]


def __getattr__(name: str) -> object:
    """PEP 562: the public names, each imported from its home when first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'inarch' has no attribute '{name}'")
    from importlib import import_module

    from inarch.runtime.installed import check_alone

    check_alone()
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        from inarch.core.errors import without_compiler

        if (fault := without_compiler(error, f"inarch.{name}")) is not None:
            raise fault from error
        raise


def __dir__() -> list[str]:
    return sorted(__all__)
