"""What came of a call, and whether that of two libraries is the same."""

# What libraries give is of any type:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from inarch.testing.onnxruntime_calls.steps import State


@dataclass(frozen=True)
class Outcome:
    """A value, or an exception."""

    value: Any = None
    error: str = ""
    """The class of the exception."""
    text: str = ""


def outcome_of(step: Callable[[State], Any], at: State) -> Outcome:
    """Does it."""
    try:
        return Outcome(step(at))
    except Exception as error:  # noqa: BLE001 - of any class: classes are compared
        return Outcome(error=type(error).__name__, text=str(error).split("\n")[0][:300])


def difference(mine: Outcome, real: Outcome) -> str:
    """How they differ; empty where they do not."""
    if any(words in mine.text for words in _STRICTER):
        return ""
    if mine.error in _TYPES and real.error in _TYPES:
        return ""  # which of the two depends on where that library looks first
    if real.error == "TypeError" and real.text.startswith("cannot pickle"):
        return ""
    if mine.error != real.error:
        return f"{_said(mine)}; onnxruntime: {_said(real)}"
    return "" if mine.error else _values(mine.value, real.value)


_TYPES = ("TypeError", "AttributeError")
_STRICTER = (
    "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED",
    "Can't allocate memory on the device",  # which that library tells when it runs
)
"""What is told of refusals: by name, or earlier than there."""


def _said(one: Outcome) -> str:
    return f"{one.error} ({one.text})" if one.error else f"{one.value!r}"[:200]


def _values(mine: Any, real: Any) -> str:
    if isinstance(real, np.ndarray):
        return _arrays(mine, cast("Any", real))
    if isinstance(real, Mapping):
        return "" if mine == real else f"{mine!r}; onnxruntime: {real!r}"
    if isinstance(real, list | tuple):
        theirs = cast("Sequence[Any]", real)
        if not isinstance(mine, list | tuple):
            return f"{mine!r}; onnxruntime: {real!r}"[:300]
        own = cast("Sequence[Any]", mine)
        if len(own) != len(theirs):
            return f"{mine!r}; onnxruntime: {real!r}"[:300]
        return next(filter(None, map(_values, own, theirs)), "")
    return "" if mine == real and type(mine) is type(real) else f"{mine!r}; onnxruntime: {real!r}"


def _arrays(mine: Any, real: Any) -> str:
    if not isinstance(mine, np.ndarray):
        return f"{type(mine).__name__}; onnxruntime: an array"
    if (mine.dtype, mine.shape) != (real.dtype, real.shape):
        return f"{mine.dtype}{list(mine.shape)}; onnxruntime: {real.dtype}{list(real.shape)}"
    if real.dtype.kind not in "fc":
        return "" if np.array_equal(mine, real) else "other numbers"
    return "" if np.allclose(mine, real, 1e-3, 1e-4, equal_nan=True) else "other numbers"
