"""MLIR text: a module at any level. `FILE.npz` beside `FILE.mlir` has the bytes of its handles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, StringAttr

from inarch.core.errors import InarchError, UsageError
from inarch.core.lazy import np
from inarch.core.npz import array_bytes, comment_of, read_arrays, write_npz
from inarch.core.outside.regular import read_regular_text
from inarch.core.states import state_of
from inarch.frontends import FilesRead, Frontend, Sizes
from inarch.frontends.names import program_name
from inarch.ir.context import store_of
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module


def read_mlir(source: Any, context: Context, sizes: Sizes) -> ModuleOp:
    """Parses the text at `source`. Its shapes are static, so there is nothing to bind.

    Raises InarchError for a file that cannot be read and at the first thing that is wrong in it.
    """
    path = Path(source)
    for name in (*sizes.dims, *sizes.shapes):
        raise UsageError(f"{path} has static shapes: there is no '{name}' to bind")
    try:
        text = read_regular_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InarchError(f"expected MLIR text; {reason}", where=str(path)) from error
    side = path.with_suffix(".npz")
    facts_of(context).put(FilesRead({side: state_of(side)} if side.is_file() else {}))
    _read_resources(side, context)
    module = parse_module(context, text, str(path))
    module.attributes.setdefault("inarch.name", StringAttr(program_name(path.stem)))
    return module


def _read_resources(path: Path, context: Context) -> None:
    if not path.is_file():
        return
    store = store_of(context)
    arrays = read_arrays(path)
    if not isinstance(arrays, dict):
        raise InarchError(
            "expected arrays by name in a .npz file, found one array", where=str(path)
        )
    for key, array in arrays.items():
        store.set(key, array_bytes(array))


_MARK = b"constants of MLIR text, written by Inarch"
"""The comment of side files: what may be overwritten."""


def resource_keys(module: ModuleOp) -> list[str]:
    """The handles of `module` that need a side file, sorted."""
    handles = {
        attribute.resource_handle.data
        for op in module.walk()
        for attribute in op.properties.values()
        if isinstance(attribute, DenseResourceAttr)
    }
    return sorted(handles)


def write_resources(path: Path, module: ModuleOp, context: Context) -> bool:
    """Writes the bytes that the handles of `module` stand for to `path`, where `read_mlir` finds them.

    Returns False, and writes nothing, when there is no handle. Raises UsageError when `path` is
    another file than a side file, EnvironmentFault when it cannot be written.
    """
    store = store_of(context)
    return write_side_file(path, {key: store.get(key) for key in resource_keys(module)})


def write_side_file(path: Path, constants: Mapping[str, bytes | memoryview]) -> bool:
    """Writes the bytes that handles stand for; otherwise as `write_resources`."""
    if not constants:
        return False
    if path.exists() and comment_of(path) != _MARK:
        raise UsageError(
            f"'{path}' exists and is no side file that Inarch wrote; the constants would overwrite "
            "it: choose another name, or remove it"
        )
    arrays = {key: np.frombuffer(data, np.uint8) for key, data in constants.items()}
    write_npz(path, arrays, comment=_MARK)
    return True


FRONTEND = Frontend(suffixes=(".mlir",), read=read_mlir)
