"""Enumerations and descriptions of memory and devices: all of it is the host's, and none has an effect."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, cast

from inarch.compat.onnxruntime.errors import refuse
from inarch.compat.onnxruntime.options import Enumeration


class OrtAllocatorType(Enumeration):
    """Who gives memory there; here NumPy does."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(Enumeration):
    """What memory is for."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(Enumeration):
    """Who may read memory."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtMemoryInfoDeviceType(Enumeration):
    """Where memory is."""

    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3


class OrtHardwareDeviceType(Enumeration):
    """Kinds of devices."""

    CPU = 0
    GPU = 1
    NPU = 2


class OrtExecutionProviderDevicePolicy(Enumeration):
    """Which device that library prefers."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtDeviceVendorId(IntEnum):
    """PCI's numbers of makers of devices."""

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


class OrtMemoryInfo:
    """What memory is: the host's."""

    name = "Cpu"
    device_id = 0
    device_mem_type = OrtDeviceMemoryType.DEFAULT
    device_vendor_id = 0

    def __init__(
        self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType
    ) -> None:
        """Raises RuntimeError for any name but `Cpu`, TypeError for what is of another type."""
        kinds = OrtAllocatorType, int, OrtMemType
        given: Any = allocator_type, device_id, mem_type
        if not all(isinstance(one, kind) for one, kind in zip(given, kinds, strict=True)):
            raise TypeError(
                "OrtMemoryInfo: expected a name, OrtAllocatorType, a number and OrtMemType, found "
                f"{name!r}, {allocator_type!r}, {device_id!r}, {mem_type!r}"
            )
        if name != self.name:
            raise RuntimeError(f"Specified device is not supported: expected 'Cpu', found '{name}'")
        self.allocator_type = allocator_type
        self.mem_type = mem_type


refuse(OrtMemoryInfo, create_v2="all memory is the host's")

HOST = OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, OrtMemType.DEFAULT)
"""Of every input and output."""

_ARENA = {
    "max_mem": 0,
    "arena_extend_strategy": -1,
    "initial_chunk_size_bytes": -1,
    "max_dead_bytes_per_chunk": -1,
    "initial_growth_chunk_size_bytes": -1,
    "max_power_of_two_extend_bytes": -1,
}


class OrtArenaCfg:
    """How that library's arena grows; kept, and of no effect."""

    def __init__(self, *given: Any) -> None:
        """Of a dict of names, or of the first four. Raises RuntimeError for a name that there is not."""
        named: dict[str, Any]
        if len(given) == 4:
            named = dict(zip(_ARENA, given, strict=False))
        elif len(given) == 1 and isinstance(given[0], dict):
            named = cast("dict[str, Any]", given[0])
        else:
            raise TypeError(f"OrtArenaCfg: expected a dict, or four numbers, found {given}")
        for name in named:
            if name not in _ARENA:
                raise RuntimeError(f"Invalid OrtArenaCfg option: {name}")
        self.__dict__.update(_ARENA | {name: int(value) for name, value in named.items()})
