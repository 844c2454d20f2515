"""Artifacts whose code is a shared library: checked against this machine, opened, and called.

`library.py` has how long a library stays open, `imports.py` how its import slots are filled.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence

from inarch.artifact import Artifact
from inarch.artifact.manifest import Manifest, Signature
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.machine.libraries import check_architecture, defined_symbols, nearest
from inarch.machine.target import native as this_machine
from inarch.machine.target import parse
from inarch.runtime.abi import ffi, libc
from inarch.runtime.calls.fits import Fits
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.loaders.external import Libraries
from inarch.runtime.loaders.fallback import opened_parts, versions
from inarch.runtime.loaders.imports import Slots
from inarch.runtime.loaders.library import OPENED, Library
from inarch.runtime.loaders.native import loader_of, module_of
from inarch.runtime.loaders.shipped import shipped_of
from inarch.runtime.module import Imports, Module
from inarch.runtime.tensor import Array, Layout
from inarch.runtime.threads import threads_here
from inarch.runtime.variants import lacks

_CALL = "int32_t(*)(DLTensor *, int32_t)"
_SOURCE = "source."
_PACKED = ".z"
"""Of a member that zlib has packed."""
_MOST_SOURCE = 1 << 28
"""Characters: more than any, and not all memory."""


def load(artifact: Artifact, imports: Imports) -> Module:
    """The module of `artifact`; `inarch.runtime.module.load` says what it raises."""
    _check_host(artifact)
    libraries = Libraries(artifact)
    manifest = artifact.manifest
    modules = opened_parts(artifact, lambda number: _part(artifact, number))
    slots = Slots(artifact, imports, modules)
    library = OPENED.get(
        artifact,
        slots.natives,
        slots.table,
        libraries.paths,
        lambda reason: _not_opened(artifact, libraries, reason),
    )
    _keep_open(libraries)
    libraries.opened()
    functions = {
        name: Function(
            name,
            signature,
            _bound(name, signature, library, slots),
            c_entry=None if slots.call_python else library.c_entry(name),
        )
        for name, signature in manifest.functions.items()
        if name not in versions(manifest)
    }
    _join(functions, manifest)
    sources = {
        name.removeprefix(_SOURCE).removesuffix(_PACKED): _Source(artifact, name)
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
        target=manifest.target,
        defaults=manifest.provenance.defaults,
    )


def _join(functions: Mapping[str, Function], manifest: Manifest) -> None:
    """Has functions of one base name, `main` and `main__2`, be one function of several sizes."""
    groups: dict[str, list[tuple[Function, Mapping[str, int]]]] = {}
    for name, sizes in manifest.sizes.items():
        if name in functions:
            groups.setdefault(name.partition("__")[0], []).append((functions[name], sizes))
    for (first, sizes), *others in groups.values():
        first.fits = Fits([(first.alone(), sizes), *others])


def _part(artifact: Artifact, number: int) -> Module:
    """A part in a backend's own format: by a loader in C where there is one, else in Python."""
    name = artifact.manifest.loaders[number]
    native = loader_of(name, artifact)
    if native is not None:
        return module_of(native, artifact, number)
    return LOADERS[name].from_part(shipped_of(artifact, number))


def _bound(
    name: str, signature: Signature, library: Library, slots: Slots
) -> Callable[[Sequence[Array]], None]:
    """What runs the public function `name` on arrays that fit `signature`; it keeps the library open."""
    call = library.symbol(name, _CALL)
    layout = Layout((*signature.inputs, *signature.outputs))
    count = len(signature.inputs) + len(signature.outputs)

    def invoke(arrays: Sequence[Array]) -> None:
        if library.has_threads:
            library.limit_threads(threads_here())
        # cffi releases the GIL for the call; `arrays` keeps the memory alive.
        if call(layout.tensors(arrays), count):
            raise InarchError(_failure(name, library))

    def invoke_with_imports(arrays: Sequence[Array]) -> None:
        if library.has_threads:
            library.limit_threads(threads_here())
        with slots.running(library) as running:
            status = call(layout.tensors(arrays), count)
        if status:
            running.raise_failure(name)
            raise InarchError(_failure(name, library))

    return invoke_with_imports if slots.call_python else invoke


def _failure(name: str, library: Library) -> str:
    """Why a call of the function `name` failed; what the library says begins with the name or does not."""
    return f"{name}: {library.message().removeprefix(f'{name}: ')}"


def _keep_open(libraries: Libraries) -> None:
    """Keeps the libraries of others that the code calls, once and for all.

    They may have threads, or hooks in the process, that outlive all calls: BLAS and OpenMP do.
    """
    for path in libraries.paths:
        flags = os.RTLD_NOW | os.RTLD_NOLOAD | os.RTLD_NODELETE
        handle = libc().dlopen(bytes(path), flags)
        if handle != ffi().NULL:
            libc().dlclose(handle)


class _Source:
    """The text of one member, read when asked for."""

    def __init__(self, artifact: Artifact, member: str) -> None:
        self._artifact = artifact
        self._member = member

    def __call__(self) -> str:
        data = self._artifact.member(self._member)
        if self._member.endswith(_PACKED):
            try:
                data = zlib.decompressobj().decompress(data, _MOST_SOURCE)
            except zlib.error as error:
                raise self._artifact.error(f"'{self._member}' is damaged: {error}") from error
        return data.decode()


def _check_host(artifact: Artifact) -> None:
    """Raises EnvironmentFault when this CPU cannot run the library."""
    missing = lacks(artifact.manifest)
    if missing:
        raise EnvironmentFault(
            f"needs {', '.join(missing)}, which this CPU lacks; "
            f"recompile with --target {this_machine().level}",
            where=artifact.where,
        )


def _not_opened(artifact: Artifact, found: Libraries, reason: str) -> EnvironmentFault:
    """Why the dynamic loader refused the library: where a symbol is missing, whose, and what is near."""
    libraries = found.of
    match = re.search(r"undefined symbol: ([\w.$]+)", reason)
    for library in libraries if match is not None else ():
        if match is None or match[1] not in library.symbols:
            continue
        known: set[str] = set()
        for path in found.paths:
            known |= defined_symbols(path) or frozenset()
        near = nearest(match[1], known)
        hint = f"the nearest is '{near}'" if near else "none is similar"
        return EnvironmentFault(
            f"{library.caller} '{match[1]}', which none of the libraries searched "
            f"defines: {', '.join(map(str, found.paths))}; {hint}; restore the symbol, or "
            "compile the model again",
            where=artifact.where,
        )
    for library, path in libraries.items():
        try:
            check_architecture(path, parse(artifact.manifest.target))
        except InarchError as error:
            return EnvironmentFault(f"{library.user}: {error.message}", where=artifact.where)
    return EnvironmentFault(f"cannot be opened: {reason}", where=artifact.where)


LOADER = Loader("shared-library", load=load)
"""The code that our C backend makes."""
