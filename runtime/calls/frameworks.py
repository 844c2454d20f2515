"""Outputs as the framework of the inputs has them: a tensor of PyTorch in, tensors of PyTorch out.

The first input that is neither of NumPy nor a number nor plain memory says which: its namespace
(`x.__array_namespace__()`, as of JAX) or its package (`torch`), where that has `from_dlpack`. Else outputs
are NumPy arrays. Nothing is copied: memory of outputs is aligned as frameworks ask for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from inarch.core.lazy import np
from inarch.runtime.tensor import Array


def framework_of(values: Sequence[object]) -> object | None:
    """The first value of a framework that is not NumPy."""
    for value in values:
        if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__"):
            return value
    return None


def as_framework(like: Any, outputs: tuple[Array, ...]) -> Any:
    """The outputs as `like` is: one, or a tuple."""
    if hasattr(like, "__array_namespace__"):
        space = like.__array_namespace__()
    else:
        space = sys.modules.get(type(like).__module__.partition(".")[0])
    convert = getattr(space, "from_dlpack", None)
    results = outputs if convert is None else tuple(convert(each) for each in outputs)
    return results[0] if len(results) == 1 else results
