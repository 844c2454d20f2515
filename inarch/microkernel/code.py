"""What microkernels need of outside: flags of their units, libraries, CPU features.

`instance_code` says it as data, without a look at the machine; `link_libraries` finds the libraries and
checks that they are for the target and define what is called. Nothing of a library is executed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inarch.core.errors import InarchError
from inarch.machine.libraries import check_architecture, check_symbol, library_path
from inarch.machine.target import Target
from inarch.microkernel import Instance, function_name, is_foreign

_PYTHON = "python:"
_STATIC = (b"!<arch>\n", b"!<thin>\n")


@dataclass(frozen=True)
class KernelCode:
    """What one microkernel's code needs besides its text."""

    name: str
    where: str | None
    """Where it was declared, for messages."""
    symbol: str | None = None
    """The library's function that is called; None where the code is the kernel's own."""
    library: str | None = None
    link: str = "reference"
    libraries: tuple[str, ...] = ()
    """Further libraries: names (`m`) or paths."""
    include_dirs: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    license: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """Of the translation units that hold its code."""
        folders = (Path(folder).expanduser() for folder in self.include_dirs)
        return (*include_flags(folders), *self.cflags)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"microkernel '{self.name}'" + (f" ({self.where})" if self.where else "")


def include_flags(folders: Iterable[Path]) -> tuple[str, ...]:
    """What makes a compiler search `folders`, and write nothing into its output of where they are."""
    found = [str(folder.absolute()) for folder in folders]
    return (
        *(f"-I{folder}" for folder in found),
        *(f"-ffile-prefix-map={folder}={Path(folder).name}" for folder in found),
    )


def instance_code(instance: Instance, where: str | None) -> KernelCode:
    """The needs of an instance that has no definition yet."""
    kernel = instance.kernel
    is_library = is_foreign(kernel) and kernel.registered is None
    return KernelCode(
        instance.symbol,
        where,
        function_name(kernel, instance.name) if is_library else None,
        kernel.library,
        kernel.link,
        tuple(kernel.libraries),
        tuple(kernel.include_dirs),
        tuple(kernel.cflags),
        tuple(kernel.needs),
        kernel.license,
    )


@dataclass(frozen=True)
class Linked:
    """What kernels need, found on this machine."""

    libraries: tuple[str, ...]
    """For `compile_library`: paths and names."""
    copied: tuple[str, ...]
    """The static libraries and objects among them, whose symbols are to be hidden."""
    externals: tuple[dict[str, Any], ...]
    """For the manifest: the shared libraries that are found again at load time."""


def link_libraries(kernels: Iterable[KernelCode], target: Target) -> Linked:
    """The libraries of `kernels`, each once.

    Raises InarchError, located at the kernel, where one is missing, for another machine, of another
    kind than its link says, or without the symbol.
    """
    libraries: dict[str, None] = {}
    users: dict[Path, list[KernelCode]] = {}
    packages: dict[Path, str] = {}
    for kernel in kernels:
        if kernel.library is not None:
            path = _checked(kernel, target)
            libraries[str(path)] = None
            if kernel.link == "reference":
                users.setdefault(path, []).append(kernel)
                packages[path] = _package(kernel.library)
        for name in kernel.libraries:
            if os.sep not in name:
                libraries[name] = None
                continue
            with _errors_of(kernel):
                path = library_path(name)
                check_architecture(path, target)
            libraries[str(path)] = None
            if not _is_static(path):
                users.setdefault(path, []).append(kernel)
    externals = [_external(path, own, packages.get(path, "")) for path, own in users.items()]
    static = [name for name in libraries if os.sep in name and _is_static(Path(name))]
    return Linked(tuple(libraries), tuple(static), tuple(externals))


def _checked(kernel: KernelCode, target: Target) -> Path:
    """The kernel's library, fit for its link."""
    assert kernel.library is not None, "the caller has seen to it"
    with _errors_of(kernel):
        path = library_path(kernel.library)
        check_architecture(path, target)
    static = _is_static(path)
    if static and kernel.link == "reference":
        raise InarchError(
            f"expected a shared library for link 'reference', found the static '{path}'; "
            "write link='embed'",
            where=kernel.label,
        )
    if not static and kernel.link == "embed":
        raise InarchError(
            f"expected an object or a static library for link 'embed', found the shared '{path}'; "
            "write link='reference', or name its .a",
            where=kernel.label,
        )
    if kernel.symbol is not None and not static:
        check_symbol(path, kernel.symbol, where=kernel.label)
    return path


@contextmanager
def _errors_of(kernel: KernelCode) -> Generator[None]:
    """Errors without a location get the kernel's."""
    try:
        yield
    except InarchError as error:
        if error.where is None:
            error.where = kernel.label
        raise


def _is_static(path: Path) -> bool:
    """Whether a file is an archive or an object to link, and not a shared library."""
    with path.open("rb") as file:
        head = file.read(18)
    if head[:8] in _STATIC:
        return True
    order = "big" if head[5:6] == b"\2" else "little"
    # ELF's e_type: 1 is ET_REL.
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], order) == 1


def _external(path: Path, users: Sequence[KernelCode], package: str) -> dict[str, Any]:
    return {
        "name": path.name,
        "path": str(path),
        "backend": "",
        "package": package,
        "kernels": sorted({kernel.name for kernel in users}),
        "symbols": sorted({kernel.symbol for kernel in users if kernel.symbol is not None}),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _package(library: str) -> str:
    """The Python package that brings a library; '' for a path."""
    if not library.startswith(_PYTHON):
        return ""
    return library.removeprefix(_PYTHON).partition("/")[0]
