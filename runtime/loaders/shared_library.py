"""Artifacts whose code is a shared library: opened, bound to its weights and imports, and called.

A library is opened once for each content and set of imports, and never closed: what it gave out
may still be in use. It is opened through a new name, because the dynamic loader gives the old code
for a name (and for a file) that it has opened before.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock, local
from typing import Any

from inarch._kernel_library import check_architecture, defined_symbols, nearest
from inarch.artifact import Artifact
from inarch.errors import EnvironmentFault, InarchError, UsageError, unknown
from inarch.manifest import ABI, External, Import, Signature
from inarch.runtime._abi import ffi, libc
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.module import Imports, Module
from inarch.runtime.native import NativeFunction
from inarch.runtime.registry import REGISTRY
from inarch.runtime.tensor import Array, Layout, view
from inarch.target import check_features, native, parse

Callback = Callable[..., object]

_CALL = "int32_t(*)(DLTensor *, int32_t)"
_IMPORT = "int32_t(void *, DLTensor *, int32_t)"
_SOURCE = "source."
_STACK = 6
"""Frames from the warning to whoever called `inarch.load`."""


def load(artifact: Artifact, imports: Imports) -> Module:
    """The module of `artifact`; `inarch.runtime.module.load` says what it raises."""
    _check_host(artifact)
    builds = _check_libraries(artifact)
    manifest = artifact.manifest
    modules = [
        LOADERS[name].from_bytes(
            artifact.member(f"modules/{number}"), f"{artifact.where}[{number}]"
        )
        for number, name in enumerate(manifest.loaders[1:], 1)
    ]
    library = _OPENED.get(artifact, _fill(artifact, imports, modules))
    _OPENED.builds.update({**builds, **_OPENED.builds})
    functions = {
        name: Function(name, signature, library.function(name, signature))
        for name, signature in manifest.functions.items()
    }
    sources = {
        name.removeprefix(_SOURCE): _Source(artifact, name)
        for name in manifest.members
        if name.startswith(_SOURCE)
    }
    return Module(
        LOADER.type_key,
        manifest.name,
        functions,
        imports=modules,
        sources=sources,
        content=artifact.content,
    )


class _Source:
    """The text of one member, read when asked for."""

    def __init__(self, artifact: Artifact, member: str) -> None:
        self._artifact = artifact
        self._member = member

    def __call__(self) -> str:
        return self._artifact.member(self._member).decode()


def _check_host(artifact: Artifact) -> None:
    """Raises EnvironmentFault when this CPU cannot run the library."""
    missing = check_features(artifact.manifest.features)
    try:
        target = parse(artifact.manifest.target)
    except UsageError:
        target = None  # a level that a later Inarch knows; its features say what is needed
    if target is not None and target.architecture not in ("generic", native().architecture):
        missing = [target.architecture]
    if missing:
        raise EnvironmentFault(
            f"needs {', '.join(missing)}, which this CPU lacks; "
            f"recompile with --target {native().level}",
            where=artifact.where,
        )


def _check_libraries(artifact: Artifact) -> dict[str, str]:
    """The hashes of the libraries that microkernels call, by path.

    Raises EnvironmentFault when a library that the code calls is not where it was. One of another
    content than at compile time is used, with one warning.
    """
    builds: dict[str, str] = {}
    for library in artifact.manifest.libraries:
        path = Path(library.path)
        if not path.is_file():
            remedy = f"install {library.package}" if library.package else "restore it"
            raise EnvironmentFault(
                f"{library.user} {_call(library)} '{library.path}', which does not exist; "
                f"{remedy}, or recompile where it is",
                where=artifact.where,
            )
        if library.sha256 is None:
            continue
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        builds[library.path] = found
        first = _OPENED.builds.get(library.path, found)
        if found == first == library.sha256:
            continue
        used = "its present build is used unchecked; compile again to have it checked"
        if first != found:  # the dynamic loader opens a path once
            used = "this process uses the build that it opened first; start it again for the present one"
        warnings.warn(
            f"{artifact.where}: library '{path}' changed since {library.user} "
            f"{_was(library)} compiled and checked with it; {used}",
            stacklevel=_STACK,
        )
    return builds


def _call(library: External) -> str:
    return "call" if len(library.kernels) > 1 else "calls"


def _was(library: External) -> str:
    return "were" if len(library.kernels) > 1 else "was"


def _not_opened(artifact: Artifact, reason: str) -> EnvironmentFault:
    """Why the dynamic loader refused the library: where a symbol is missing, whose, and what is near."""
    libraries = artifact.manifest.libraries
    match = re.search(r"undefined symbol: ([\w.$]+)", reason)
    for library in libraries if match is not None else ():
        if match is None or match[1] not in library.symbols:
            continue
        known: set[str] = set()
        for each in libraries:
            known |= defined_symbols(Path(each.path)) or frozenset()
        near = nearest(match[1], known)
        hint = f"the nearest is '{near}'" if near else "none is similar"
        return EnvironmentFault(
            f"{library.user} {_call(library)} '{match[1]}', which none of the libraries searched "
            f"defines: {', '.join(each.path for each in libraries)}; {hint}; restore the symbol, or "
            "compile the model again",
            where=artifact.where,
        )
    for library in libraries:
        try:
            check_architecture(Path(library.path), parse(artifact.manifest.target))
        except InarchError as error:
            return EnvironmentFault(f"{library.user}: {error.message}", where=artifact.where)
    return EnvironmentFault(f"cannot be opened: {reason}", where=artifact.where)


def _fill(artifact: Artifact, imports: Imports, modules: Sequence[Module]) -> list[Callback]:
    """What fills each import slot: `imports`, else a submodule, else the registry."""
    slots = _open_slots(artifact)
    for name in imports:
        if name not in {slot.name for slot in slots}:
            known = [slot.name for slot in slots]
            raise unknown("import", name, known, within=f"'{artifact.where}'")
    return [_filled(artifact, slot, imports, modules) for slot in slots]


def _open_slots(artifact: Artifact) -> list[Import]:
    """The slots that are filled at load; the library fills the others itself."""
    return [slot for slot in artifact.manifest.imports if slot.linked is None]


def _filled(
    artifact: Artifact, slot: Import, imports: Imports, modules: Sequence[Module]
) -> Callback:
    given = imports.get(slot.name)
    if given is not None:
        return given.get_function("main") if isinstance(given, Module) else given
    for module in modules:
        if slot.name in module.functions:
            return module.functions[slot.name]
    if slot.name in REGISTRY:
        return REGISTRY[slot.name]
    raise artifact.error(
        f"imports '{slot.name}', which nothing provides; give it with "
        f"load(..., imports={{'{slot.name}': function}}) or inarch.runtime.registry.register"
    )


class _Library:
    """An opened library, with all that must live as long as its code."""

    def __init__(self, artifact: Artifact, handle: Any, callbacks: Sequence[Callback]) -> None:
        self._artifact = artifact
        self._prefix = artifact.manifest.prefix
        self._handle = handle
        self.callbacks = callbacks
        self._failure = local()
        found = self._symbol("abi_version", "int32_t(*)(void)")()
        if found != ABI:
            raise artifact.error(f"expected a library of ABI version {ABI}, found {found}")
        self._last_error = self._symbol("last_error", "const char *(*)(void)")
        self._slots = [
            callback.slot()
            if isinstance(callback, NativeFunction)
            else (ffi().callback(_IMPORT, self._entry(slot, callback), error=1), ffi().NULL)
            for slot, callback in zip(_open_slots(artifact), callbacks, strict=True)
        ]
        self._weights = ffi().from_buffer(artifact.weights)
        table = ffi().new("inarch_import[]", max(len(self._slots), 1))
        for entry, slot in zip(table, self._slots, strict=False):
            entry.call, entry.self = slot
        bind = self._symbol("bind", "int32_t(*)(const void *, const inarch_import *, int32_t)")
        if bind(self._weights, table, len(self._slots)):
            raise artifact.error(f"expected to bind the library, found: {self._message()}")

    def function(self, name: str, signature: Signature) -> Callable[[Sequence[Array]], None]:
        """What runs the public function `name` on arrays that fit `signature`."""
        call = self._symbol(name, _CALL)
        layout = Layout((*signature.inputs, *signature.outputs))
        count = len(signature.inputs) + len(signature.outputs)

        def invoke(arrays: Sequence[Array]) -> None:
            self._failure.found = ("", None)
            # cffi releases the GIL for the call; `arrays` keeps the memory alive.
            if call(layout.tensors(arrays), count):
                self._raise(name)

        return invoke

    def _symbol(self, name: str, ctype: str) -> Any:
        full = f"{self._prefix}_{name}"
        address = libc().dlsym(self._handle, full.encode())
        if address == ffi().NULL:
            raise self._artifact.error(f"expected the symbol '{full}' in the library, found none")
        return ffi().cast(ctype, address)

    def _entry(self, slot: Import, function: Callback) -> Callable[[Any, Any, int], int]:
        """The C side of an import: arrays for `function`, and a code for its exception."""
        signature = function.signature if isinstance(function, Function) else slot.signature
        inputs = len(signature.inputs) if signature is not None else 0

        def entry(_self: Any, args: Any, count: int) -> int:
            try:
                arrays = [view(args[i], writeable=i >= inputs) for i in range(count)]
                if isinstance(function, Function):
                    function(*arrays[:inputs], out=arrays[inputs:])
                else:
                    function(*arrays)
            except BaseException as error:  # noqa: BLE001
                # None can pass through C: `_raise` goes on with it on the other side.
                self._failure.found = (slot.name, error)
                return 1
            return 0

        return entry

    def _raise(self, name: str) -> None:
        """Raises for a call that failed: of an import's exception, or the library's message."""
        slot, error = self._failure.found
        self._failure.found = ("", None)
        if error is None:
            raise InarchError(f"{name}: {self._message()}")
        if not isinstance(error, Exception):
            raise error  # KeyboardInterrupt and the like are not the import's
        raise InarchError(
            f"{name}: import '{slot}' failed: {type(error).__name__}: {error}"
        ) from error

    def _message(self) -> str:
        text = self._last_error()
        return ffi().string(text).decode(errors="replace") if text != ffi().NULL else "no message"


class _Opened:
    """The libraries of this process, by content and imports.

    Per process because the dynamic loader is: it keeps one copy of a file, whoever opens it, and
    `bind` may be called once for each copy.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._libraries: dict[str, list[_Library]] = {}
        self._files: set[tuple[int, int]] = set()
        self.builds: dict[str, str] = {}
        """Library that some program calls, by path -> the hash of the build that is in this process."""

    def get(self, artifact: Artifact, callbacks: Sequence[Callback]) -> _Library:
        """The library of `artifact` bound to `callbacks`: the one there is, or a new one."""
        with self._lock:
            known = self._libraries.setdefault(artifact.identity, [])
            for library in known:
                if library.callbacks == callbacks:
                    return library
            library = _Library(artifact, self._open(artifact), callbacks)
            known.append(library)
            return library

    def _open(self, artifact: Artifact) -> Any:
        """Opens the file itself, or a copy where the loader would give what it opened before."""
        last_error = libc().dlerror  # found first: a look-up in between would clear the message
        state = os.fstat(artifact.descriptor)
        file = (state.st_dev, state.st_ino)
        with tempfile.TemporaryDirectory(prefix="inarch-lib-") as folder:
            name = Path(folder, f"{artifact.manifest.prefix}-{artifact.identity[:16]}.so")
            # Through the descriptor: what was checked is what runs, though the path be replaced.
            opened = Path(f"/proc/self/fd/{artifact.descriptor}")
            if file in self._files or not opened.exists():
                name.write_bytes(artifact.library)
            else:
                name.symlink_to(opened)
            handle = libc().dlopen(bytes(name), os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE)
            if handle == ffi().NULL:
                reason = ffi().string(last_error()).decode(errors="replace")
                raise _not_opened(artifact, reason)
        self._files.add(file)
        return handle


_OPENED = _Opened()

LOADER = Loader("shared-library", load=load)
"""The code that our C backend makes."""
