"""onnxruntime's interface for Python over Inarch: `InferenceSession` and what belongs to it.

    import inarch.compat.onnxruntime as ort
    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": image})

`python -m inarch.compat.onnxruntime script.py` runs a script that imports `onnxruntime` on it, unchanged;
docs/onnxruntime.md lists the supported and the missing names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inarch.compat.onnxruntime.installed import install
from inarch.compat.onnxruntime.providers import PROVIDERS

if TYPE_CHECKING:
    from inarch.compat.onnxruntime.binding import IOBinding
    from inarch.compat.onnxruntime.binding import IOBinding as SessionIOBinding
    from inarch.compat.onnxruntime.described import ModelMetadata, NodeArg
    from inarch.compat.onnxruntime.devices import (
        OrtAllocatorType,
        OrtArenaCfg,
        OrtDeviceMemoryType,
        OrtDeviceVendorId,
        OrtExecutionProviderDevicePolicy,
        OrtHardwareDeviceType,
        OrtMemoryInfo,
        OrtMemoryInfoDeviceType,
        OrtMemType,
    )
    from inarch.compat.onnxruntime.options import (
        ExecutionMode,
        ExecutionOrder,
        GraphOptimizationLevel,
        RunOptions,
        SessionOptions,
    )
    from inarch.compat.onnxruntime.session import InferenceSession
    from inarch.compat.onnxruntime.values import OrtDevice, OrtValue

_HOMES: Mapping[str, Sequence[str]] = {
    "binding": ["IOBinding"],
    "described": ["ModelMetadata", "NodeArg"],
    "devices": [
        "OrtAllocatorType", "OrtArenaCfg", "OrtDeviceMemoryType", "OrtDeviceVendorId",
        "OrtExecutionProviderDevicePolicy", "OrtHardwareDeviceType", "OrtMemoryInfo",
        "OrtMemoryInfoDeviceType", "OrtMemType",
    ],
    "options": ["ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "RunOptions", "SessionOptions"],
    "session": ["InferenceSession"],
    "values": ["OrtDevice", "OrtValue"],
}  # fmt: skip
"""Where the classes are, each imported when it is first used: running a program needs none of them."""

__version__ = "1.32.0"
"""Of the onnxruntime whose interface this is: what packages compare."""

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "__version__",
    "create_and_register_allocator",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "has_collective_ops",
    "install",
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]


def get_available_providers() -> list[str]:
    """`CPUExecutionProvider`."""
    return list(PROVIDERS)


def get_all_providers() -> list[str]:
    """The same: there are no others."""
    return list(PROVIDERS)


def get_device() -> str:
    """`CPU`."""
    return "CPU"


def get_version_string() -> str:
    """The version of the interface."""
    return __version__


def get_build_info() -> str:
    """Says that this is Inarch, and which."""
    import inarch

    return f"Inarch {inarch.__version__}, with the interface of ONNX Runtime {__version__}"


def has_collective_ops() -> bool:
    """False."""
    return False


def set_default_logger_severity(severity: int, /) -> None:
    """Nothing: Inarch logs by Python's `logging`, under the name `inarch`."""
    _ = int(severity)


def set_default_logger_verbosity(verbosity: int, /) -> None:
    """Nothing: Inarch logs by Python's `logging`, under the name `inarch`."""
    _ = int(verbosity)


def enable_telemetry_events() -> None:
    """Nothing: there are none."""


def disable_telemetry_events() -> None:
    """Nothing: there are none."""


def preload_dlls(*args: object, **kwargs: object) -> None:
    """Nothing: there are none to load."""


def create_and_register_allocator(info: OrtMemoryInfo, arena: OrtArenaCfg | None, /) -> None:
    """Nothing: memory is NumPy's."""
    _ = info, arena


def set_seed(seed: int, /) -> None:
    """Nothing: operators with random values are refused."""
    _ = int(seed)


_CAPI = ("onnxruntime_pybind11_state", "onnxruntime_inference_collection")
"""Modules of `capi`; they import this one."""


def __getattr__(name: str) -> Any:
    """PEP 562: the classes, from their homes; what there is not, with the nearest name that there is."""
    if name == "capi":
        from importlib import import_module

        for each in _CAPI:
            import_module(f"{__name__}.capi.{each}")
        return globals()["capi"]
    asked = "IOBinding" if name == "SessionIOBinding" else name
    home = next((home for home, names in _HOMES.items() if asked in names), None)
    if home is not None:
        from importlib import import_module

        globals()[name] = getattr(import_module(f"{__name__}.{home}"), asked)
        return globals()[name]
    if name.startswith("__"):
        raise AttributeError(f"module 'onnxruntime' has no attribute '{name}'")
    from difflib import get_close_matches

    near = get_close_matches(name, __all__, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise AttributeError(
        f"module 'onnxruntime' has no attribute '{name}': Inarch's does not have it; {hint}"
        "docs/onnxruntime.md lists what there is"
    )


def __dir__() -> list[str]:
    return sorted(__all__)
