"""Kernels of operators in C: `kernels.c`, compiled when it is first needed, and kept in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from inarch.artifact.manifest import Port
from inarch.bridges.framework import bridge_symbol, framework
from inarch.bridges.shim import called, shim
from inarch.core.dtypes import DTYPES
from inarch.core.errors import EnvironmentFault, InternalError
from inarch.runtime.abi import ffi
from inarch.runtime.function import CEntry

NAMES = (
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_dim",
    "aoti_torch_get_dtype",
    "aoti_torch_get_device_type",
    "aoti_torch_delete_tensor_object",
    "aoti_torch_empty_strided",
    "aoti_torch_grad_mode_is_enabled",
    "_ZNK3c1010TensorImpl13requires_gradEv",
    "aoti_torch_check",
    "aoti_torch_library_init_impl",
    "aoti_torch_library_impl",
)
"""What `kernels.c` calls, in the order of its table."""

_OTHERS = {"bfloat16": (4, 16), "float16": (2, 16), "complex64": (5, 64), "complex128": (5, 128)}
"""What Inarch does not compute with, for messages: DLPack's code and bits."""

_TYPES = """
typedef struct {
    const char *name;
    int64_t *shape, *strides;
    int32_t ndim;
    int32_t dtype;
} inarch_torch_port;
typedef struct {
    const void *f;
    int32_t inputs, outputs, is_out;
    const inarch_torch_port *ports;
} inarch_torch_operator;
"""


class Kernels:
    """The compiled `kernels.c`, which knows the PyTorch of this process."""

    def __init__(self) -> None:
        """Raises EnvironmentFault where a symbol of PyTorch is missing, or there is no C compiler."""
        from cffi import FFI

        self._types: Any = FFI()
        self._types.cdef(_TYPES)
        self._kept: list[Any] = []
        addresses = [_symbol(name) for name in NAMES]
        # Exceptions of C++ pass through the frames of the kernels.
        made = shim("torch/kernels.c", "-fexceptions")
        known = {dtype.numpy: (dtype.dlpack, dtype.bits) for dtype in DTYPES.values()} | _OTHERS
        self._numbers = {name: _number(f"aoti_torch_dtype_{name}") for name in known}
        kinds = ffi().new("DLDataType[]", [(*kind, 1) for kind in known.values()])
        init = made.symbol(
            "inarch_torch_init",
            "void(*)(const uintptr_t *, int32_t, const int32_t *, const DLDataType *, int32_t)",
        )
        table = ffi().new("uintptr_t[]", addresses)
        numbers = ffi().new("int32_t[]", list(self._numbers.values()))
        init(table, _number("aoti_torch_device_type_cpu"), numbers, kinds, len(known))
        self._register = made.symbol(
            "inarch_torch_register", "int32_t(*)(const char *, const char *, const void *)"
        )

    def register(
        self,
        namespace: str,
        name: str,
        entry: CEntry,
        ports: Sequence[tuple[str, Port]],
        outputs: int,
        *,
        threads: int,
    ) -> None:
        """Registers the overloads `default` and `out` of the operator `name`, which is defined already.

        `ports` are the names in the schema with what they take, `outputs` how many of them are written.
        Raises EnvironmentFault where no more fit into a process.
        """
        function = called(entry, name, threads)
        array = self._new("inarch_torch_port[]", len(ports))
        for each, (said, port) in zip(array, ports, strict=True):
            each.name = self._text(said)
            each.ndim = len(port.shape)
            each.dtype = self._numbers[port.dtype.numpy]
            each.shape = self._new("int64_t[]", list(port.shape) or [0])
            each.strides = self._new("int64_t[]", _row_major(port.shape) or [0])
        for is_out in (0, 1):
            made = self._new("inarch_torch_operator *", None)
            made.f, made.ports, made.outputs = function, array, outputs
            made.inputs, made.is_out = len(ports) - outputs, is_out
            address = ffi().cast("void *", int(self._types.cast("uintptr_t", made)))
            overload = f"{name}.out" if is_out else name
            status = self._register(namespace.encode(), overload.encode(), address)
            if status == 1:
                raise EnvironmentFault("expected at most 256 operators in a process, found more")
            if status != 0:
                raise InternalError(f"PyTorch takes no kernel for {namespace}::{overload}")

    def _new(self, kind: str, value: object) -> Any:
        made = self._types.new(kind) if value is None else self._types.new(kind, value)
        self._kept.append(made)
        return made

    def _text(self, text: str) -> Any:
        return self._new("char[]", text.encode())


@cache
def kernels() -> Kernels:
    """Those of this process: PyTorch has one table of operators."""
    return Kernels()


def _symbol(name: str) -> int:
    torch = framework("torch")
    library = "libc10.so" if "c10" in name else "libtorch_cpu.so"
    return bridge_symbol(Path(torch.__file__).parent / "lib" / library, name, "torch")


def _number(name: str) -> int:
    """What a function of PyTorch without arguments gives."""
    return ffi().cast("int32_t(*)(void)", _symbol(name))()


def _row_major(shape: Sequence[int]) -> list[int]:
    strides, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return strides
