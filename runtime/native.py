"""Functions of C in the registry: called without a step through Python.

    register("my_gemm", NativeFunction.open("libmine.so", "my_gemm"))

The C function is `int32_t my_gemm(void *self, DLTensor *args, int32_t n)`: inputs, then outputs, any
strides; 0 is success. `inarch.h` declares `DLTensor`.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from inarch.core.errors import EnvironmentFault, InarchError
from inarch.runtime.abi import ffi, libc
from inarch.runtime.tensor import Array, describe

CALL = "int32_t(*)(void *, DLTensor *, int32_t)"
"""The type of an import slot's function."""
LAST_ERROR = "const char *(*)(void)"


def _lasting(path: str | Path) -> str:
    """The path from any folder; a bare name is searched for by the dynamic loader."""
    return str(Path(path).absolute()) if os.sep in str(path) else str(path)


class _Opened:
    """A library that is open as long as this lives; at the end of the process it stays open."""

    def __init__(self, handle: Any, path: str) -> None:
        self.path = path
        weakref.finalize(self, libc().dlclose, handle).atexit = False


@dataclass(frozen=True)
class NativeFunction:
    """The C function at `address`, called with `self_address` as its `self`."""

    name: str
    address: int
    self_address: int = 0
    owner: object = field(default=None, compare=False, repr=False)
    """What keeps the code in memory, if that is not for ever."""
    last_error: int = 0
    """`const char *last_error(void)`: why its last call of this thread failed; 0: nobody says."""

    @classmethod
    def open(cls, path: str | Path, symbol: str) -> Self:
        """The function `symbol` of a shared library, open as long as this or a program that it fills.

        Raises EnvironmentFault when the library cannot be opened, or has no such function.
        """
        last_error = libc().dlerror
        handle = libc().dlopen(os.fsencode(path), os.RTLD_NOW | os.RTLD_LOCAL)
        if handle == ffi().NULL:
            reason = ffi().string(last_error()).decode(errors="replace")
            raise EnvironmentFault(f"library '{path}' cannot be opened: {reason}")
        owner = _Opened(handle, _lasting(path))
        address = libc().dlsym(handle, symbol.encode())
        if address == ffi().NULL:
            raise EnvironmentFault(
                f"library '{path}': expected the function '{symbol}', found none"
            )
        return cls(symbol, int(ffi().cast("uintptr_t", address)), owner=owner)

    def __reduce__(self) -> tuple[Any, ...]:
        """As the path of its library; an address is of one process."""
        if not isinstance(self.owner, _Opened) or self.self_address:
            raise InarchError(
                f"'{self.name}' is an address, which no other process has; use NativeFunction.open"
            )
        return NativeFunction.open, (self.owner.path, self.name)

    def __call__(self, *arrays: Array) -> None:
        """Calls it on arrays of any strides. Raises InarchError when it returns another code than 0."""
        tensors = ffi().new("DLTensor[]", max(len(arrays), 1))
        # The shapes live in `kept`, to which the tensors only point.
        kept = [describe(array, tensors[n]) for n, array in enumerate(arrays)]
        call, own = self.slot()
        status = call(own, tensors, len(kept))
        if status != 0:
            raise InarchError(f"'{self.name}' failed{self._why() or f' with code {status}'}")

    def _why(self) -> str:
        if not self.last_error:
            return ""
        text = ffi().cast(LAST_ERROR, self.last_error)()
        said = "" if text == ffi().NULL else ffi().string(text).decode(errors="replace")
        return f": {said}" if said else ""

    def slot(self) -> tuple[Any, Any]:
        """`(call, self)` of an import slot."""
        return ffi().cast(CALL, self.address), ffi().cast("void *", self.self_address)
