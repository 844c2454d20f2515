"""Exceptions, options and values, where onnxruntime has them: all of the package's names but some."""

from __future__ import annotations

from typing import Any

from inarch.compat import onnxruntime
from inarch.compat.onnxruntime import SessionOptions, errors

_ELSEWHERE = frozenset({
    "IOBinding", "InferenceSession", "OrtDeviceVendorId", "__version__", "install", "preload_dlls",
})  # fmt: skip
"""Names of the package that this module of onnxruntime does not have."""

_ERRORS = [name for name, thing in vars(errors).items() if errors.is_of_onnxruntime(thing)]

__all__ = list({*onnxruntime.__all__, *_ERRORS, "get_default_session_options"} - _ELSEWHERE)  # pyrefly: ignore[unresolvable-dunder-all] - by rule


def get_default_session_options() -> SessionOptions:
    """Options that nobody has set."""
    return SessionOptions()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(errors if name in _ERRORS else onnxruntime, name)


def __dir__() -> list[str]:
    return sorted(__all__)
