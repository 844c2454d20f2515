"""NumPy, imported when first used.

`import numpy` costs 85 to 440 ms, and most runs of `inarch-opt` never need an array. Everything in
Inarch that op definitions and passes import at start-up takes `np` from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias


class _LazyModule:
    """Stands for a module until one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self.__name = name

    def __getattr__(self, attribute: str) -> object:
        module = import_module(self.__name)
        self.__dict__.update(vars(module))
        return getattr(module, attribute)


def lazy_module(name: str) -> Any:
    """What stands for the module `name`, and imports it when one of its names is asked for."""
    return _LazyModule(name)


if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

Array: TypeAlias = "np.ndarray[Any, Any]"
"""A NumPy array of any dtype and shape."""


def address_of(data: memoryview) -> int:
    """Where the bytes of a view begin."""
    return int(np.frombuffer(data, np.uint8).ctypes.data)
