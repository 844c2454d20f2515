"""Arrays in `.npy` and `.npz` files: any name, equal files for equal arrays, one error for damage."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inarch.cache import replacing
from inarch.errors import InarchError
from inarch.lazy import np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


def read_arrays(path: Path) -> Array | dict[str, Array]:
    """The array of a `.npy` file, or all arrays of a `.npz` file by name; never pickled objects.

    Raises InarchError with what is wrong with the file.
    """
    try:
        with path.open("rb") as file:  # numpy leaves its own one open when the file is damaged
            loaded: Any = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return cast("Array", loaded)
            return {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except Exception as error:
        # A damaged file makes numpy, zipfile and zlib raise nearly anything; an .npy that is none
        # is taken for a pickle, which is nothing that a user has to know.
        reason = "damaged, or not of NumPy" if "pickle" in str(error) else str(error)
        raise _unreadable(path, reason) from error


def _unreadable(path: Path, reason: str) -> InarchError:
    return InarchError(f"expected arrays in a .npy or .npz file: {reason}", where=str(path))


def comment_of(path: Path) -> bytes:
    """The comment of a `.npz` file; empty where it has none, or is no such file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.comment
    except (OSError, zipfile.BadZipFile):
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
