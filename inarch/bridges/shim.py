"""C files of ours between a framework and compiled functions, compiled when a bridge is first used.

They are linked with neither side: what they call of a framework they are given as addresses.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from inarch.bridges.framework import check_sizes
from inarch.core.errors import EnvironmentFault, UnsupportedError
from inarch.core.scratch import scratch
from inarch.machine.target import parse
from inarch.machine.toolchain import compile_library
from inarch.runtime.abi import ffi, libc
from inarch.runtime.c import INCLUDE
from inarch.runtime.function import CEntry, Function


class Shim:
    """An opened shim. It is never closed: what frameworks have queued may call it."""

    def __init__(self, name: str, handle: Any) -> None:
        self._name = name
        self._handle = handle

    def symbol(self, name: str, ctype: str) -> Any:
        """Its function `name`."""
        address = libc().dlsym(self._handle, name.encode())
        assert address != ffi().NULL, f"{self._name} defines {name}"
        return ffi().cast(ctype, address)

    def address(self, name: str) -> int:
        """The same as a number."""
        return int(ffi().cast("uintptr_t", self.symbol(name, "void *")))


@cache
def shim(name: str, *flags: str) -> Shim:
    """`inarch/bridges/<name>`, a C file, compiled with `flags` or from the cache, and opened.

    Raises EnvironmentFault where there is no C compiler, or it cannot be opened.
    """
    here = Path(__file__).parent
    source, include = (here / name).read_text(), (f"-I{here}", f"-I{INCLUDE}")
    with scratch("inarch-shim-") as folder:
        path = folder / "shim.so"
        compile_library(
            {Path(name).name: source}, path, target=parse("generic"), flags=(*include, *flags)
        )
        last_error = libc().dlerror
        handle = libc().dlopen(bytes(path), os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE)
        if handle == ffi().NULL:
            reason = ffi().string(last_error()).decode(errors="replace")
            raise EnvironmentFault(f"expected to open the library of {name}, found: {reason}")
    return Shim(name, handle)


_CALLED = """
typedef struct {
  void *call, *last_error, *set_threads;
  const char *name;
  int32_t threads;
} inarch_called;
"""
"""As `called.h` has it."""


@cache
def _declare() -> None:
    ffi().cdef(_CALLED)


def called(entry: CEntry, name: str, threads: int | None) -> Any:
    """The function as `inarch_called *` of called.h; it stays for the rest of the process."""
    _declare()
    text = ffi().new("char[]", name.encode())
    addresses = (entry.address, entry.last_error, entry.set_threads)
    pointers = [ffi().cast("void *", each) for each in addresses]
    made = ffi().new("inarch_called *", [*pointers, text, threads or 0])
    _HELD.append((made, text, entry))
    return made


_HELD: list[object] = []
"""What shims refer to."""


def entry_of(function: Function, bridge: str) -> CEntry:
    """The code of a function that a framework calls from its own threads. Raises UnsupportedError.

    It stays in memory for the rest of the process: a framework does not say when it is done with it.
    """
    check_sizes(function, bridge)
    entry = function.c_entry
    if entry is None:
        raise UnsupportedError(
            f"{function.name}: expected a function of C alone, found one that calls Python; fill its "
            "imports with functions of C (inarch.runtime.native)",
            where=f"bridge to {bridge}",
        )
    _KEPT.setdefault(entry.address, entry)
    return entry


_KEPT: dict[int, CEntry] = {}
"""What frameworks may call, by address."""
