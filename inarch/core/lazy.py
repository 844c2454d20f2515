"""NumPy, imported when first used.

`import numpy` costs 85 to 440 ms, and most runs of `inarch-opt` never need an array. Everything in
Inarch that op definitions and passes import at start-up takes `np` from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
else:

    class _LazyModule:
        """Stands for a module until one of its names is asked for."""

        def __init__(self, name: str) -> None:
            self.__name = name

        def __getattr__(self, attribute: str) -> object:
            from importlib import import_module

            module = import_module(self.__name)
            self.__dict__.update(vars(module))
            return getattr(module, attribute)

    np = _LazyModule("numpy")

Array: TypeAlias = "np.ndarray[Any, Any]"
"""A NumPy array of any dtype and shape."""

__all__ = ["Array", "np"]
