"""Shared libraries in this process: opened once for each file, closed when nobody holds them.

Whoever can call into a library refers to its `Library`: modules, their functions, arrays of its memory
that imports keep. A call that runs holds its function. The dynamic loader gives the code that it has for
a name or a file that is open already, so a file is opened under a new name, and one that is open (as
another state of it, or bound to other functions of C) through a copy.

At the end of the process nothing is closed: threads may still compute.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from inarch.artifact import Artifact
from inarch.artifact.manifest import ABI
from inarch.artifact.mapping import Identity
from inarch.artifact.needed import with_paths
from inarch.core.errors import InarchError
from inarch.core.forks import short_lock
from inarch.core.scratch import scratch
from inarch.runtime.abi import ffi, libc, pinned
from inarch.runtime.function import CEntry
from inarch.runtime.limits import tell_threadpoolctl
from inarch.runtime.loaders.embedded import in_memory
from inarch.runtime.native import LAST_ERROR, NativeFunction
from inarch.runtime.threads import POOL, POOL_TYPE

Slot = tuple[Any, Any]
"""`(call, self)` of an import slot."""
Natives = tuple[NativeFunction | None, ...]
"""What fills the import slots with C; None for those that Python fills, for each module anew."""


class Library:
    """An opened library, bound to its weights and slots. What it refers to lives as long as its code."""

    def __init__(
        self, artifact: Artifact, handle: Any, natives: Natives, slots: Sequence[Slot]
    ) -> None:
        """Raises InarchError for a library that is not the manifest's, or does not take its weights."""
        self.handle = handle
        self._where = artifact
        self._natives = natives
        self._prefix = artifact.manifest.prefix
        found = self.symbol("abi_version", "int32_t(*)(void)")()
        if found != ABI:
            raise artifact.error(
                f"expected a library of ABI version {ABI}, found {found}; compile the model again"
            )
        self._last_error = self.symbol("last_error", "const char *(*)(void)")
        self._check_weights(artifact)
        self._weights = pinned(artifact.weights)
        table = ffi().new("inarch_import[]", max(len(slots), 1))
        for entry, slot in zip(table, slots, strict=False):
            entry.call, entry.self = slot
            if entry.call == ffi().NULL:
                entry.call = self.symbol("absent", "int32_t(*)(void *, DLTensor *, int32_t)")
        bind = self.symbol(
            "bind", "int32_t(*)(const void *, int64_t, const inarch_import *, int32_t)"
        )
        self._set_threads = self.symbol("set_threads", "int32_t(*)(int32_t)")
        nbytes = len(artifact.weights)
        weights = self._weights if nbytes else ffi().NULL
        if bind(weights, nbytes, table, len(slots)):
            raise artifact.error(f"expected to bind the library, found: {self.message()}")
        self._explain(table)
        if any(slot.fallback for slot in artifact.manifest.imports):
            from inarch.runtime.loaders.fallback import Telling

            self._telling = Telling(artifact, self.symbol)
        self.has_threads = POOL.share(self.symbol("pool", POOL_TYPE), handle)
        if self.has_threads:
            tell_threadpoolctl()

    def _check_weights(self, artifact: Artifact) -> None:
        if artifact.manifest.data.get("weights_within") is True:
            return  # `bind` is given none, and refuses that where the library has none itself
        own = ffi().string(self.symbol("weights_sha256", "const char *(*)(void)")()).decode()
        said = (artifact.manifest.shared or artifact.manifest.weights).sha256
        if own != said:
            raise artifact.error(
                f"expected weights of SHA-256 {own[:16]}..., with which the library was compiled, found "
                f"{said[:16]}... in the manifest; compile the model again"
            )

    def _explain(self, table: Any) -> None:
        """Tells the library who says why a function of C in a slot failed."""
        for number, native in enumerate(self._natives):
            if native is not None and native.last_error:
                explain = self.symbol(
                    "explain", f"void(*)(int32_t, const inarch_import *, {LAST_ERROR})"
                )
                explain(number, table + number, ffi().cast(LAST_ERROR, native.last_error))

    def symbol(self, name: str, ctype: str) -> Any:
        """The address of `<prefix>_<name>`. Raises InarchError when there is none."""
        full = f"{self._prefix}_{name}"
        address = libc().dlsym(self.handle, full.encode())
        if address == ffi().NULL:
            raise self._where.error(f"expected the symbol '{full}' in the library, found none")
        return ffi().cast(ctype, address)

    def c_entry(self, name: str) -> CEntry:
        """The function `name` for callers in C."""

        def address(symbol: str) -> int:
            return int(ffi().cast("uintptr_t", self.symbol(symbol, "void *")))

        threads = address("set_threads") if self.has_threads else 0
        return CEntry(address(name), address("last_error"), threads, self)

    def limit_threads(self, threads: int) -> None:
        """Calls from this thread are run by at most so many threads; 0: by as many as there should be."""
        if self._set_threads(threads):
            raise InarchError(self.message())

    def release(self, pointer: Any) -> None:
        """Called when an array that a function of Python got is gone: until then it keeps this."""

    def message(self) -> str:
        """The text of this thread's last failure."""
        text = self._last_error()
        return ffi().string(text).decode(errors="replace") if text != ffi().NULL else "no message"


class Opened:
    """The libraries of this process that somebody holds."""

    def __init__(self) -> None:
        self._lock = short_lock()
        self._libraries: weakref.WeakValueDictionary[tuple[object, ...], Library] = (
            weakref.WeakValueDictionary()
        )
        self._retired: deque[Any] = deque()

    def get(
        self,
        artifact: Artifact,
        natives: Natives,
        slots: Callable[[], Sequence[Slot]],
        needs: tuple[Path, ...],
        not_opened: Callable[[str], Exception],
    ) -> Library:
        """The library of the file that `artifact` maps: the one there is, or a new one.

        `needs` are the libraries of others that it calls. `not_opened` makes the error of the dynamic
        loader's reason.
        """
        addresses = tuple(one and (one.address, one.self_address) for one in natives)
        place = artifact.manifest.library_offset
        key: tuple[object, ...] = (artifact.mapping.identity, place, addresses, needs)
        try:
            with self._lock:
                self._close_retired()
                library = self._libraries.get(key)
                if library is None:
                    handle = _open(artifact, needs, not_opened)
                    try:
                        library = Library(artifact, handle, natives, slots())
                    except BaseException:
                        libc().dlclose(handle)
                        raise
                    weakref.finalize(library, self._retire, handle).atexit = False
                    self._libraries[key] = library
                return library
        finally:
            self._drain()

    def _retire(self, handle: Any) -> None:
        """Closes a library whose `Library` is gone: at once, or when whoever opens one has done so."""
        if POOL.is_of(handle):
            return
        self._retired.append(handle)
        self._drain()

    def _drain(self) -> None:
        # A collection of garbage may come here from within `get`, in any thread: it must not wait.
        while self._retired and self._lock.acquire(blocking=False):
            try:
                self._close_retired()
            finally:
                self._lock.release()

    def _close_retired(self) -> None:
        while self._retired:
            libc().dlclose(self._retired.popleft())


OPENED = Opened()
"""Per process because the dynamic loader is."""


def _open(artifact: Artifact, needs: Sequence[Path], not_opened: Callable[[str], Exception]) -> Any:
    """Opens the file itself, or a copy where the loader would give what is open already.

    What calls libraries of others is a copy in which it stands where they are.
    """
    handle = ffi().NULL if needs else _open_directly(artifact, not_opened)
    if handle != ffi().NULL:
        return handle
    paths = {number: bytes(path) for number, path in enumerate(needs)}
    content = with_paths(artifact.library, paths) if paths else artifact.library
    descriptor = in_memory("library.so", content)
    if descriptor is not None:
        try:
            return _dlopen(_new_name(descriptor), os.RTLD_NOW | os.RTLD_LOCAL, not_opened)
        finally:
            os.close(descriptor)
    with scratch("inarch-lib-") as folder:
        name = folder / "library.so"
        name.write_bytes(content)
        return _dlopen(bytes(name), os.RTLD_NOW | os.RTLD_LOCAL, not_opened)


def _new_name(descriptor: int) -> bytes:
    """A spelling that no library had before: `./` and `/` change nothing but the name."""
    spelled = f"{next(_NUMBERS):b}".replace("0", "./").replace("1", "/")
    return f"/proc/self/fd/{spelled}{descriptor}".encode()


def _open_directly(artifact: Artifact, not_opened: Callable[[str], Exception]) -> Any:
    """NULL where the file is open already, as this or another state of it, or there is no /proc.

    Through the descriptor: what was checked is what runs, though the path be replaced.
    """
    if artifact.manifest.library_offset:
        return ffi().NULL  # the dynamic loader opens what a file begins with
    try:
        if Identity.of(os.fstat(artifact.descriptor)) != artifact.mapping.identity:
            return ffi().NULL
        Path(f"/proc/self/fd/{artifact.descriptor}").stat()
    except OSError:
        return ffi().NULL
    name = _new_name(artifact.descriptor)
    present = libc().dlopen(name, os.RTLD_NOW | os.RTLD_NOLOAD)
    if present == ffi().NULL:
        return _dlopen(name, os.RTLD_NOW | os.RTLD_LOCAL, not_opened)
    libc().dlclose(present)
    return ffi().NULL


def _dlopen(name: bytes, flags: int, not_opened: Callable[[str], Exception]) -> Any:
    last_error = libc().dlerror  # found first: a look-up in between would clear the message
    handle = libc().dlopen(name, flags)
    if handle == ffi().NULL:
        raise not_opened(ffi().string(last_error()).decode(errors="replace"))
    return handle


_NUMBERS = count(1)
