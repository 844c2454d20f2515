"""Modules of shared libraries that are no artifacts: functions of C, called with arrays that are checked.

    module = load_module("libmine.so")      # beside libmine.json, or with `const char inarch_module[]`
    result = module["scale"](x)

`inarch.artifact.description` has what the file says; a program with the functions of inarch.h says it by its
table (`table.py`), with which a description is compared. A copy of the library is opened: the file may be
replaced.
"""

from __future__ import annotations

import os
from pathlib import Path

from inarch.artifact.description import SYMBOL, Description, parse_description
from inarch.artifact.index import TAIL
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.scratch import scratch
from inarch.runtime.abi import ffi, libc
from inarch.runtime.loaders import Loader
from inarch.runtime.loaders.described import opened
from inarch.runtime.loaders.table import check_against, table_of
from inarch.runtime.module import Module

_TAIL_BYTES = 200


def load_from_bytes(data: bytes, name: str) -> Module:
    """The module of a library's bytes; what it takes is said by the file beside `name`, or by the library.

    An artifact, whatever it is called, is loaded as one. Raises InarchError for a library that nothing is
    said of, and EnvironmentFault for one that cannot be opened.
    """
    if TAIL.search(data[-_TAIL_BYTES:]):
        return Module.load_from_bytes(data)
    with scratch("inarch-so-") as folder:
        library = folder / "module.so"
        library.write_bytes(data)
        said = _described(Path(name), library)
        return opened(LOADER.type_key, name, library, said, content=data)


def _described(path: Path, library: Path) -> Description:
    """What is said beside it, else within it, which agrees with its table; else what the table says."""
    beside = path.with_suffix(".json")
    try:
        said, where = beside.read_text(encoding="utf-8"), str(beside)
    except FileNotFoundError:
        said, where = _symbol_of(path, library), f"{path}: {SYMBOL}"
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFault(f"cannot be read: {error}", where=str(beside)) from error
    table = table_of(library, str(path))
    if said is None and table is not None:
        return table
    if said is None:
        raise InarchError(
            f"expected what its functions take, in '{beside.name}' beside it or as "
            f"`const char {SYMBOL}[]` in it, found neither; docs/artifact.md has an example",
            where=str(path),
        )
    described = parse_description(said, where)
    if table is not None and described.prefix is not None:
        check_against(described, table, where)
    return described


def _symbol_of(path: Path, library: Path) -> str | None:
    """The text of the library's own symbol, if it has one."""
    last_error = libc().dlerror
    handle = libc().dlopen(bytes(library), os.RTLD_NOW | os.RTLD_LOCAL)
    if handle == ffi().NULL:
        reason = ffi().string(last_error()).decode(errors="replace")
        reason = reason.removeprefix(f"{library}: ")
        raise EnvironmentFault(f"cannot be opened: {reason}", where=str(path))
    try:
        address = libc().dlsym(handle, SYMBOL.encode())
        if address == ffi().NULL:
            return None
        return ffi().string(ffi().cast("const char *", address)).decode(errors="replace")
    finally:
        libc().dlclose(handle)


LOADER = Loader("so", load_from_bytes=load_from_bytes)
"""Libraries of others, or what `cc -shared` makes of C that the loader `c` takes."""
