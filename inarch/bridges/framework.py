"""The other side of a bridge: its package, and the symbols of its libraries.

Frameworks have no types that a checker could read where they are not installed; they are `Any` here.
"""

from __future__ import annotations

import os
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.core.errors import EnvironmentFault, UnsupportedError
from inarch.runtime.abi import ffi, libc

if TYPE_CHECKING:
    from inarch.runtime.function import Function


def framework(package: str, *, distribution: str | None = None) -> Any:
    """The package of a framework; `distribution` is what pip calls it.

    Raises EnvironmentFault where it is not installed, or cannot be imported.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise _broken(package, error) from error
        wanted = distribution or package
        raise EnvironmentFault(
            f"expected the package '{package}', found none; pip install {wanted}",
            where=f"bridge to {package}",
        ) from None
    except Exception as error:
        # The import of a framework runs a lot of code of others.
        raise _broken(package, error) from error


_HOST = ("cpu", "cpu:0", "cpu(0)")
"""The host's device as text, and as the devices of PyTorch and MXNet are written."""


def check_place(door: str, device: object, stream: object) -> None:
    """Raises UnsupportedError for another device than the host's, or a stream.

    The rule of every door, and of `set_stream` in C (inarch.h): what runs in host memory takes the device
    `cpu` and no stream. Code for a device takes its own.
    """
    named = getattr(device, "platform", None) or device  # a device of JAX says its kind by that
    if str(named) in _HOST and stream is None:
        return
    found = f"device '{device}'" + ("" if stream is None else f" and stream {stream!r}")
    raise UnsupportedError(
        f"{door}: expected device 'cpu' and no stream, found {found}; the function runs in host memory"
    )


def _broken(package: str, error: Exception) -> EnvironmentFault:
    said = f"{type(error).__name__}: {error}"
    return EnvironmentFault(
        f"expected the package '{package}' to be imported, found {said}",
        where=f"bridge to {package}",
    )


def version_of(distribution: str) -> str:
    """The installed version, as pip knows it."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def bridge_symbol(library: Path, name: str, distribution: str) -> int:
    """The address of the C symbol `name` in a framework's library, which is in this process.

    Raises EnvironmentFault for a library that is not open, and for a symbol that it lacks, with the
    library's path and the version of its package.
    """
    said = f"{library} ({distribution} {version_of(distribution)})"
    where = f"bridge to {distribution}"
    handle = libc().dlopen(os.fsencode(library), os.RTLD_NOW | os.RTLD_NOLOAD)
    if handle == ffi().NULL:
        raise EnvironmentFault(f"expected the library {said} in this process", where=where)
    address = libc().dlsym(handle, name.encode())
    libc().dlclose(handle)  # whoever opened it holds it
    if address == ffi().NULL:
        raise EnvironmentFault(
            f"expected the symbol '{name}' in {said}, found none; this version has another interface",
            where=where,
        )
    return int(ffi().cast("uintptr_t", address))


def check_sizes(function: Function, bridge: str) -> None:
    """Raises UnsupportedError for a function whose outputs are of computed size: only Python cuts them."""
    for port in function.signature.outputs:
        if port.computed:
            raise UnsupportedError(
                f"{function.name}: expected outputs of known sizes, found {port}; call it from Python",
                where=f"bridge to {bridge}",
            )
