"""What a plain library says of itself by its table, `<prefix>_library()`; whether a description agrees."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inarch.artifact.description import Described, Description
from inarch.artifact.index import dtype_number
from inarch.artifact.manifest import ABI, Port, Signature
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.machine.libraries import defined_symbols
from inarch.runtime.abi import ffi, libc

_END = "_library"
_VERSION = "_abi_version"


def table_of(library: Path, where: str) -> Description | None:
    """What the file `library` says, which messages call `where`; None where it has no table, or several.

    Raises InarchError for a table of another ABI.
    """
    symbols = defined_symbols(library) or frozenset()
    prefixes = [
        name.removesuffix(_END)
        for name in symbols
        if name.endswith(_END) and name.removesuffix(_END) + _VERSION in symbols
    ]
    if len(prefixes) != 1:
        return None
    (prefix,) = prefixes
    handle = libc().dlopen(bytes(library), os.RTLD_NOW | os.RTLD_LOCAL)
    if handle == ffi().NULL:
        return None  # whoever opens it to run it says why
    try:
        version = _symbol(handle, prefix + _VERSION, "int32_t(*)(void)")()
        if version != ABI:
            raise InarchError(
                f"expected a library of ABI version {ABI}, found {version}; compile the model again",
                where=where,
            )
        return _description(
            prefix, _symbol(handle, prefix + _END, "const inarch_library *(*)(void)")()
        )
    finally:
        libc().dlclose(handle)


def check_against(said: Description, table: Description, where: str) -> None:
    """Raises InarchError where the description says another thing than the library's own table."""
    if said.prefix != table.prefix:
        raise InarchError(
            f"expected a description of the library's program '{table.prefix}', found one of "
            f"'{said.prefix}'",
            where=where,
        )
    for name, one in said.functions.items():
        own = table.functions.get(name)
        if own is None:
            known = ", ".join(table.functions)
            raise InarchError(
                f"expected functions of the library ({known}), found '{name}'", where=where
            )
        for kind, wanted, found in (
            ("inputs", own.signature.inputs, one.signature.inputs),
            ("outputs", own.signature.outputs, one.signature.outputs),
        ):
            if [port.type for port in wanted] != [port.type for port in found]:
                raise InarchError(
                    f"functions.{name}.{kind}: expected those of the library ({_types(wanted)}), found "
                    f"({_types(found)})",
                    where=where,
                )


def _types(ports: Sequence[Port]) -> str:
    return ", ".join(port.type for port in ports)


def _symbol(handle: Any, name: str, ctype: str) -> Any:
    return ffi().cast(ctype, libc().dlsym(handle, name.encode()))


def _description(prefix: str, table: Any) -> Description:
    start = ffi().cast("const char *", table.functions)
    functions = [
        ffi().cast("const inarch_function *", start + number * table.function_size)
        for number in range(table.function_count)
    ]
    data = {
        "prefix": prefix,
        "target": _text(table.target),
        "features": _text(table.features).split(),
        "weights_bytes": 0 if _has_weights(table) else table.weights_bytes,
    }
    found = [_function(each, table.port_size) for each in functions]
    return Description(
        {name: Described(name, signature) for name, signature in found}, prefix, data
    )


def _has_weights(table: Any) -> bool:
    """Whether it has its weights within: then it takes a state without any."""
    setup, place = ffi().new("inarch_setup *"), ffi().new("inarch_state **")
    setup.size = ffi().sizeof("inarch_setup")
    if table.state_new(table, setup, place):
        return False
    table.state_free(place[0])
    return True


def _function(function: Any, port_size: int) -> tuple[str, Signature]:
    start = ffi().cast("const char *", function.ports)
    ports = tuple(
        port_of(ffi().cast("const inarch_port *", start + i * port_size))
        for i in range(function.inputs + function.outputs)
    )
    inputs = ports[: function.inputs]
    return _text(function.name), Signature(
        inputs, ports[function.inputs :], function.workspace_bytes
    )


def port_of(port: Any) -> Port:
    """The port that a struct of C is. Raises InarchError for an element type that is none."""
    for dtype in DTYPES.values():
        if dtype_number(dtype) == port.dtype:
            shape = tuple(port.shape[axis] for axis in range(port.rank))
            return Port(_text(port.name), dtype, shape)
    raise InarchError(f"expected an element type of inarch.h, found {port.dtype:#x}")


def _text(text: Any) -> str:
    return ffi().string(text).decode(errors="replace")
