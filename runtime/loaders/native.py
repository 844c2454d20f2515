"""Loaders in C: shared libraries that run parts in a backend's own format, without Python in the call.

`inarch_loader.h` is their interface. For a part of an artifact one is looked for among those that
`load(loaders=...)` was given, as inarch-loader-FORMAT.so beside the artifact, by that name in the folders of
INARCH_LIBRARY_PATH, and at `Loader.library`; where there is none, the loader in Python runs the part. A
library that is open is used as it was opened.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inarch.artifact import Artifact
from inarch.artifact.manifest import Import, Signature
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.forks import short_lock
from inarch.runtime.abi import ffi, libc, pinned
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS
from inarch.runtime.loaders.external import find_file
from inarch.runtime.loaders.shipped import Shipped, shipped_of
from inarch.runtime.loaders.table import port_of
from inarch.runtime.module import Module
from inarch.runtime.native import NativeFunction
from inarch.runtime.tensor import Array

VERSION = 1
"""INARCH_LOADER_VERSION."""
_ENTRY = "inarch_loader_table"
_HOST = 1
_MOST_TEXT = 1 << 20
_CALLS = ("load", "list", "bind", "execute", "destroy", "last_error")


class NativeLoader:
    """An open library with the table of `inarch_loader.h`, as long as this, or a state of it, lives."""

    def __init__(self, path: Path, where: str) -> None:
        """Raises EnvironmentFault, at `where`, for what cannot be opened or is no loader of this version."""
        self.path = path
        self._where = where
        last_error = libc().dlerror
        handle = libc().dlopen(bytes(path.absolute()), os.RTLD_NOW | os.RTLD_LOCAL)
        if handle == ffi().NULL:
            reason = ffi().string(last_error()).decode(errors="replace")
            raise EnvironmentFault(f"loader '{path}' cannot be opened: {reason}", where=where)
        weakref.finalize(self, libc().dlclose, handle).atexit = False
        entry = libc().dlsym(handle, _ENTRY.encode())
        if entry == ffi().NULL:
            raise self._error(f"expected the function '{_ENTRY}', found none")
        self.table = ffi().cast("const inarch_loader *(*)(void)", entry)()
        self._check()
        self.name = _text(self.table.name)
        self.formats: list[str] = []
        while self.table.formats[len(self.formats)] != ffi().NULL:
            self.formats.append(_text(self.table.formats[len(self.formats)]))

    def _error(self, message: str) -> EnvironmentFault:
        return EnvironmentFault(f"loader '{self.path}': {message}", where=self._where)

    def _check(self) -> None:
        table, made = self.table, ffi()
        found = 0 if table == made.NULL else table.version
        again = "build it with the header of this Inarch"
        if found != VERSION:
            raise self._error(
                f"expected version {VERSION} of inarch_loader.h, found version {found}; {again}"
            )
        is_whole = (
            table.size >= _least_size()
            and made.NULL not in (table.name, table.formats)
            and all(getattr(table, name) != made.NULL for name in _CALLS)
            and table.function_size >= made.sizeof("inarch_function")
            and table.port_size >= made.sizeof("inarch_port")
        )
        if not is_whole:
            raise self._error(
                f"expected all fields of version {VERSION} of inarch_loader.h, found one missing; {again}"
            )
        if table.device_type != _HOST:
            raise self._error(
                "expected one that takes the host's memory, found one of the device type "
                f"{table.device_type}"
            )

    def require(self, format: str) -> None:  # noqa: A002 - the word of the interface
        """Raises EnvironmentFault where it does not read the format."""
        if format not in self.formats:
            known = ", ".join(f"'{name}'" for name in self.formats) or "nothing"
            raise self._error(f"expected one that reads '{format}', found one of {known}")

    def optional(self, name: str) -> Any:
        """A function that the table ends before, or leaves out, is None."""
        if self.table.size < ffi().offsetof("inarch_loader", name) + ffi().sizeof("void *"):
            return None
        found = getattr(self.table, name)
        return None if found == ffi().NULL else found

    def refused(self, part: Shipped) -> EnvironmentFault:
        """The error of a part that it does not run."""
        reason = self.reason() or "it does not say why"
        return EnvironmentFault(
            f"loader '{self.name}' does not run what {part.made}: {reason}", where=part.where
        )

    def reason(self) -> str:
        """Why its last function that failed in this thread did."""
        text = self.table.last_error()
        return "" if text == ffi().NULL else _text(text)

    def failed(self, what: str, where: str) -> InarchError:
        """The error of one of its functions: it does not do `what`."""
        reason = self.reason() or "it does not say why"
        return InarchError(f"loader '{self.name}' does not {what}: {reason}", where=where)


class State:
    """What a loader made of some bytes; both stay until nobody refers to this or its functions."""

    def __init__(self, loader: NativeLoader, part: Shipped) -> None:
        """Raises InarchError with the loader's reason."""
        made, where = ffi(), part.where
        self.loader = loader
        self.part = part
        held = pinned(part.program)
        texts = {
            "format": part.format,
            "where": where,
            "version": part.version,
            "machine": part.machine,
            "instance": part.instance,
        }
        kept_texts = {name: made.new("char[]", text.encode()) for name, text in texts.items()}
        options = made.new("inarch_load_options *")
        options.size = made.sizeof("inarch_load_options")
        for name, text in kept_texts.items():
            setattr(options, name, text)
        pairs = [text for option in part.options.items() for text in option]
        kept_pairs = [made.new("char[]", text.encode()) for text in pairs]
        kept_options = made.new("const char *[]", kept_pairs)
        options.options, options.option_count = kept_options, len(part.options)
        check = loader.optional("check")
        if check is not None and check(options):
            raise loader.refused(part)
        bind_weights = loader.optional("bind_weights")
        if part.weights and bind_weights is None:
            raise InarchError(
                f"loader '{loader.name}' takes no weights (it has no 'bind_weights'), found "
                f"{len(part.weights)}",
                where=where,
            )
        place = made.new("void **")
        if loader.table.load(held, len(part.program), options, place):
            raise loader.failed("load it", where)
        self._state = place[0]
        blobs = _Blobs(part)
        # It keeps what the loader may read; at the end of the process threads may still compute.
        kept = (loader, held, kept_texts, kept_pairs, kept_options, blobs)
        weakref.finalize(self, _destroy, loader.table.destroy, self._state, kept).atexit = False
        if bind_weights is not None and bind_weights(self._state, blobs.array, len(part.weights)):
            raise loader.failed("bind its weights", where)
        self._where = where
        self._bound = [self._bind(*each) for each in self._listed(where)]

    @property
    def functions(self) -> dict[str, NativeRegion]:
        """By name; each keeps this."""
        table = self.loader.table
        execute, last_error = _address(table.execute), _address(table.last_error)
        return {
            name: NativeRegion(
                NativeFunction(name, execute, bound, owner=self, last_error=last_error),
                signature,
                self._where,
            )
            for name, signature, bound in self._bound
        }

    def _listed(self, where: str) -> list[tuple[int, Any]]:
        table, made = self.loader.table, ffi()
        place, count = made.new("const inarch_function **"), made.new("int32_t *")
        if table.list(self._state, place, count):
            raise self.loader.failed("list its functions", where)
        start = made.cast("const char *", place[0])
        return [
            (number, made.cast("const inarch_function *", start + number * table.function_size))
            for number in range(count[0])
        ]

    def _bind(self, number: int, found: Any) -> tuple[str, Signature, int]:
        table, made = self.loader.table, ffi()
        name, where = _text(found.name), self._where
        start = made.cast("const char *", found.ports)
        ports = [
            port_of(made.cast("const inarch_port *", start + i * table.port_size))
            for i in range(found.inputs + found.outputs)
        ]
        signature = Signature(tuple(ports[: found.inputs]), tuple(ports[found.inputs :]))
        bound = made.new("void **")
        if table.bind(self._state, number, bound):
            raise self.loader.failed(f"bind '{name}'", where)
        return name, signature, _address(bound[0])


class _Blobs:
    """The weights of a part as C gets them: addresses of the mapped file."""

    def __init__(self, part: Shipped) -> None:
        made = ffi()
        self.array = made.new("inarch_blob[]", max(len(part.weights), 1))
        self._kept: list[Any] = []
        for blob, (name, array) in zip(self.array, part.weights.items(), strict=False):
            text, data = made.new("char[]", name.encode()), made.from_buffer(array)
            blob.name, blob.data, blob.bytes = text, made.cast("const void *", data), array.nbytes
            self._kept += [text, data]


class NativeRegion(Function):
    """A function of a part, which the program's code calls in C."""

    def __init__(self, native: NativeFunction, signature: Signature, where: str) -> None:
        def invoke(arrays: Sequence[Array]) -> None:
            native(*arrays)

        super().__init__(native.name, signature, invoke)
        self.native = native
        self._where = where

    def for_slot(self, slot: Import) -> NativeFunction:
        """What fills the slot. Raises InarchError where the program calls it with other arguments."""
        wanted = slot.signature
        if wanted is not None and _kinds(wanted) != _kinds(self.signature):
            raise InarchError(
                f"expected '{slot.name}' to take and give what the program gives it, found other "
                "arguments; compile the model again",
                where=self._where,
            )
        return self.native


class _States:
    """Those of parts of files: modules of one file share them, as they share its code."""

    def __init__(self) -> None:
        self._lock = short_lock()
        self._live: weakref.WeakValueDictionary[tuple[object, ...], State] = (
            weakref.WeakValueDictionary()
        )

    def get(self, loader: NativeLoader, artifact: Artifact, number: int) -> State:
        """The state of a part of the artifact: the one there is, or a new one."""
        format, member = artifact.manifest.loaders[number], f"modules/{number}"  # noqa: A001
        entry = (
            artifact.manifest.members[member].entry if member in artifact.manifest.members else ""
        )
        key = (artifact.mapping.identity, member, entry, format, _address(loader.table))
        with self._lock:
            state = self._live.get(key)
            if state is None:
                state = self._live[key] = State(loader, shipped_of(artifact, number))
            return state


def loader_of(format: str, artifact: Artifact) -> NativeLoader | None:  # noqa: A002
    """The loader in C of a part's format, if there is one.

    Raises EnvironmentFault for a library that is none.
    """
    parts = artifact.manifest.loaders[1:]
    for path in artifact.loaders if parts else ():
        loader = NativeLoader(path, artifact.where)
        if not set(loader.formats) & {*parts}:
            loader.require(parts[0])
        if format in loader.formats:
            return loader
    found = find_file(f"inarch-loader-{format}.so", artifact)
    if found is None:
        found = LOADERS[format].library if format in LOADERS else None
    if found is None:
        return None
    loader = NativeLoader(found, artifact.where)
    loader.require(format)
    return loader


def module_of(loader: NativeLoader, artifact: Artifact, number: int) -> Module:
    """The module of a part."""
    return module_of_state(_STATES.get(loader, artifact, number))


def module_of_bytes(path: Path, format: str, data: bytes, name: str) -> Module:  # noqa: A002
    """The module of bytes that are of no artifact, by the library at `path`."""
    loader = NativeLoader(path, name)
    loader.require(format)
    return module_of_state(State(loader, Shipped(format, name, memoryview(data))))


def module_of_state(state: State) -> Module:
    """The module of a part that is loaded."""
    part = state.part
    sources = {part.format: part.text} if _is_text(part.program) else None
    return Module(part.format, part.where, state.functions, sources=sources, content=part.program)


_STATES = _States()
"""Per process, as the libraries of `library.py` are."""


def _least_size() -> int:
    """Of a table: all that version 1 began with."""
    return int(ffi().offsetof("inarch_loader", "last_error")) + int(ffi().sizeof("void *"))


def _destroy(destroy: Any, state: Any, _kept: object) -> None:
    destroy(state)


def _is_text(data: memoryview) -> bool:
    """Whether it is shown as source: text, and not so much that reading it would cost something."""
    if len(data) > _MOST_TEXT:
        return False
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _text(text: Any) -> str:
    return ffi().string(text).decode(errors="replace")


def _address(pointer: Any) -> int:
    return int(ffi().cast("uintptr_t", pointer))


def _kinds(signature: Signature) -> list[list[tuple[str, tuple[int, ...]]]]:
    return [
        [(port.dtype.name, port.shape) for port in ports]
        for ports in (signature.inputs, signature.outputs)
    ]
