"""The files that `inarch-opt` reads and writes: text, and side files of constants (`.npz`)."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp

from inarch.core.cache import replacing
from inarch.core.errors import InarchError, UsageError
from inarch.core.lazy import np
from inarch.ir.context import ConstantStore
from inarch.ir.payload.constants import constant_array

_BYTECODE = b"ML\xefR"
"""What begins a file of MLIR's bytecode, which xDSL cannot read."""


def decode(data: bytes, name: str) -> str:
    """MLIR text. Raises InarchError for anything else, such as a model in another format."""
    if data.startswith(_BYTECODE):
        raise InarchError(
            f"expected MLIR text, found MLIR's bytecode; `mlir-opt {name} -o FILE.mlir` makes text of it",
            where=name,
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InarchError(
            "expected MLIR text in UTF-8, found other bytes; `inarch compile` reads models",
            where=name,
        ) from error


def read_text(path: Path) -> str:
    """The text of an input file. Raises UsageError when it cannot be read."""
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"expected an input file, found '{path}': {error.strerror}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Writes `data` so that `path` holds either what it held or all of it.

    Raises EnvironmentFault when it cannot be written.
    """
    with replacing(path) as file:
        file.write(data)


def read_resources(path: Path, store: ConstantStore) -> None:
    """Puts the bytes of every array in an `.npz` file into `store`, under the array's name.

    Raises UsageError when it is no such file.
    """
    from inarch.core.npz import array_bytes, read_arrays  # as archives: few runs have any

    try:
        arrays = read_arrays(path)
    except InarchError as error:
        raise UsageError(f"--resources: {error.message}", where=str(path)) from error
    if not isinstance(arrays, dict):
        raise UsageError(
            "--resources: expected arrays by name in a .npz file, found one array", where=str(path)
        )
    for key, array in arrays.items():
        store.set(key, array_bytes(array))


def resources_of(module: ModuleOp, store: ConstantStore) -> bytes | None:
    """An `.npz` file of the constants that `module` refers to; None when there are none.

    Raises InarchError for a handle without data.
    """
    handles: dict[str, DenseResourceAttr] = {}
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attribute, DenseResourceAttr):
                handles[attribute.resource_handle.data] = attribute
    if not handles:
        return None
    from zipfile import ZipFile

    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for key, handle in handles.items():
            array = constant_array(handle, store)
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return stream.getvalue()
