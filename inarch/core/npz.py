"""Arrays in `.npy` and `.npz` files: any name, equal files for equal arrays, one error for damage."""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from inarch.core.cache import replacing
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.core.limits import CONSTANT_BYTES
from inarch.core.outside.regular import open_regular

EXPECTED = "expected arrays in a .npy or .npz file"


def read_arrays(path: Path) -> Array | dict[str, Array]:
    """The array of a `.npy` file, or all arrays of a `.npz` file by name; never pickled objects.

    Raises InarchError with what is wrong with the file.
    """
    try:
        with open_regular(path) as file:  # numpy leaves its own one open when the file is damaged
            _check_sizes(path, file)
            loaded: Any = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return _known(cast("Array", loaded))
            found = {name: _known(loaded[name]) for name in loaded.files}
    except InarchError:
        raise
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except Exception as error:
        # A damaged file makes numpy, zipfile and zlib raise nearly anything; an .npy that is none
        # is taken for a pickle, which is nothing that a user has to know.
        reason = "damaged, or not of NumPy" if "pickle" in str(error) else _first_line(error)
        raise _unreadable(path, reason) from error
    for name, array in found.items():
        if not isinstance(array, np.ndarray):  # NumPy gives what is no array as bytes
            raise _unreadable(path, f"'{name}' is no array")
    return found


def _known(array: Array) -> Array:
    """An array of a dtype that NumPy writes without its name, as bfloat16: of the one that has such bytes."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "V" or array.dtype.names:  # pyright: ignore[reportUnnecessaryIsInstance]
        return array
    size = array.dtype.itemsize
    nameless = [row.numpy for row in DTYPES.values() if row.package and row.nbytes == size]
    return array.view(nameless[0]) if len(nameless) == 1 else array


def array_bytes(array: Array) -> memoryview:
    """The elements of `array` in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


_NPY = b"\x93NUMPY"
"""The first bytes of a .npy file."""


def _check_sizes(path: Path, file: BinaryIO) -> None:
    """Raises InarchError where a file says that it holds more than fits into it.

    NumPy allocates what a header says before it reads a byte of it.
    """
    whole = file.seek(0, 2)
    file.seek(0)
    if not zipfile.is_zipfile(file):
        file.seek(0)
        if file.read(len(_NPY)) == _NPY:  # what else it may be, NumPy says
            file.seek(0)
            _check_header(path, file, whole)
        file.seek(0)
        return
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        for entry in entries:
            if entry.filename.endswith(".npy"):
                with archive.open(entry) as member:
                    _check_header(path, cast("BinaryIO", member), entry.file_size)
    total = sum(entry.file_size for entry in entries)
    if total > whole:  # it is compressed, or entries share their data
        CONSTANT_BYTES.check(total, where=str(path))
    file.seek(0)


def _check_header(path: Path, file: BinaryIO, size: int) -> None:
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read:
        raise _unreadable(path, f"expected version 1.0 or 2.0 of the format, found {version}")
    shape, _, dtype = read[version](file)
    if not dtype.itemsize:
        raise _unreadable(path, f"expected numbers, found elements of type {dtype}")
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize > size:
        raise _unreadable(path, f"expected data of shape {shape}, found a file of {size} bytes")


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _unreadable(path: Path, reason: str) -> InarchError:
    return InarchError(f"{EXPECTED}: {reason}", where=str(path))


def comment_of(path: Path) -> bytes:
    """The comment of a `.npz` file; empty where it has none, or is no such file."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            return archive.comment
    except (
        OSError,
        ValueError,
        LookupError,
        NotImplementedError,
        zipfile.BadZipFile,
        struct.error,
    ):
        return b""


def write_npz(path: Path, arrays: Mapping[str, Array], *, comment: bytes = b"") -> None:
    """Writes `arrays` as a `.npz` file, with a comment in it.

    Raises EnvironmentFault when `path` cannot be written.
    `numpy.savez` cannot: it takes the names as keywords, of which it has some itself (`file`).
    """
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.comment = comment
        for name, array in arrays.items():
            # A ZipInfo has a fixed time.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
