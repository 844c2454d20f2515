"""Artifacts whose code is a shared library: checked against this machine, opened, and called.

`library.py` has how long a library stays open, `imports.py` how its import slots are filled.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from inarch.artifact import Artifact
from inarch.artifact.manifest import External, Signature
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.machine.libraries import check_architecture, defined_symbols, nearest
from inarch.machine.target import check_features, native, parse
from inarch.runtime.abi import ffi, libc
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.loaders.imports import Slots
from inarch.runtime.loaders.library import OPENED, Library
from inarch.runtime.module import Imports, Module
from inarch.runtime.tensor import Array, Layout
from inarch.runtime.threads import threads_here

_CALL = "int32_t(*)(DLTensor *, int32_t)"
_SOURCE = "source."
_STACK = 6
"""Frames from the warning to whoever called `inarch.load`."""

_BUILDS: dict[str, str] = {}
"""Library that some program calls, by path -> the hash of the build that is in this process."""


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
    slots = Slots(artifact, imports, modules)
    library = OPENED.get(
        artifact, slots.natives, slots.table, lambda reason: _not_opened(artifact, reason)
    )
    _keep_open(artifact)
    _BUILDS.update({**builds, **_BUILDS})
    functions = {
        name: Function(name, signature, _bound(name, signature, library, slots))
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


def _keep_open(artifact: Artifact) -> None:
    """Keeps the libraries of others that the code calls, once and for all.

    They may have threads, or hooks in the process, that outlive all calls: BLAS and OpenMP do.
    """
    for library in artifact.manifest.libraries:
        flags = os.RTLD_NOW | os.RTLD_NOLOAD | os.RTLD_NODELETE
        handle = libc().dlopen(os.fsencode(library.path), flags)
        if handle != ffi().NULL:
            libc().dlclose(handle)


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
        if not _is_file(path):
            raise EnvironmentFault(
                f"{library.caller} '{library.path}', which does not exist; "
                f"{library.remedy}, or recompile where it is",
                where=artifact.where,
            )
        if library.sha256 is None:
            continue
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        builds[library.path] = found
        first = _BUILDS.get(library.path, found)
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


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that cannot be searched
        return False


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
            f"{library.caller} '{match[1]}', which none of the libraries searched "
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


LOADER = Loader("shared-library", load=load)
"""The code that our C backend makes."""
