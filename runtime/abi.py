"""The C interface as cffi sees it: the structs of inarch.h and inarch_loader.h, and the dynamic loader."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from inarch.core.forks import wait_for
from inarch.core.lazy import np

_LOADER = """
void *dlopen(const char *path, int flags);
void *dlsym(void *handle, const char *name);
char *dlerror(void);
int dlclose(void *handle);
"""


@cache
def ffi() -> Any:
    """The one FFI of the process: types of another would not be equal to its."""
    from cffi import FFI

    made: Any = FFI()
    wait_for(made._lock)  # noqa: SLF001
    made.cdef(structs("inarch.h") + structs("inarch_loader.h") + _LOADER)
    return made


def pinned(data: memoryview) -> Any:
    """The address of a view's bytes, for C; it keeps them.

    By way of NumPy: what C holds of a view itself keeps Python's collector from clearing it, and the process
    dies where both are garbage of one cycle (CPython's `memory_clear`).
    """
    return ffi().from_buffer(np.frombuffer(data, np.uint8) if len(data) else b"")


@cache
def libc() -> Any:
    """The process's own symbols.

    `dlopen` is called through C and not through `ffi.dlopen`, because a library object of cffi
    closes its library when it is collected: here that is for whoever opened it to say.
    """
    return ffi().dlopen(None)


def structs(header: str) -> str:
    """The declarations between the header's marks, without preprocessor lines."""
    text = files("inarch.runtime").joinpath("include", header).read_text()
    part = text.partition("/* [structs:")[2].partition("/* [end of structs]")[0]
    lines = part.partition("*/")[2].splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))
