"""TensorProto to NumPy, without a copy where the bytes are raw; external data beside the model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

from inarch.core.dtypes import DTYPES, DType, without_row
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.core.limits import check_shape
from inarch.core.outside.regular import real_inside
from inarch.core.states import State, state_of
from inarch.frontends.report import NotSupportedError
from inarch.ir.payload.mapped import MappedFiles

if TYPE_CHECKING:
    from onnx import TensorProto


_FIELDS = {"f32": "float_data", "f64": "double_data", "i64": "int64_data"} | dict.fromkeys(
    ("ui32", "ui64"), "uint64_data"
)
"""Where a tensor's numbers are when they are not raw; `int32_data` for all others."""

_NARROW = {21: ("ui8", 4), 22: ("i8", 4), 25: ("ui8", 2), 26: ("i8", 2)}
"""TensorProto.DataType of packed integers -> the dtype that constants of it are read as, and their bits."""
_ROWS = {24: "f8E8M0FNU"}
"""TensorProto.DataType of dtypes that somebody else's row may be of."""

EXTERNAL = 1
"""TensorProto.DataLocation.EXTERNAL."""


@dataclass(frozen=True)
class Folders:
    """Where external data may be: beside the model's path, and beside the file it links to."""

    model: Path | None = None
    target: Path | None = None
    files: MappedFiles = field(default_factory=MappedFiles)
    read: dict[Path, State | None] = field(default_factory=dict[Path, State | None])
    """The files of external data that were read, by their places in the model's folder: states before."""
    data: dict[Path, memoryview] = field(default_factory=dict[Path, memoryview])
    """Their bytes, by their places behind links."""
    given: Mapping[str, memoryview] = field(default_factory=dict[str, memoryview])
    """Files in memory, by their places in the model's folder: where there are some, no other is read."""


def element_dtype(element_type: int) -> DType:
    """The dtype of a TensorProto.DataType. Raises NotSupportedError for one that Inarch has not."""
    found = next((dtype for dtype in DTYPES.values() if dtype.onnx == element_type != 0), None)
    if found is None:
        from onnx import TensorProto

        known = dict(zip(TensorProto.DataType.values(), TensorProto.DataType.keys(), strict=True))
        name = known.get(element_type, f"number {element_type}")
        row = _ROWS.get(element_type, "")
        advice = f"; {without_row(row)}" if row else ""
        raise NotSupportedError(f"dtype {name.lower()}{advice}")
    return found


def tensor_array(
    tensor: TensorProto, raw: bytes | memoryview | None, folders: Folders, where: str
) -> Array:
    """The array of `tensor`; `raw` are its bytes when they are not in the message.

    Raises NotSupportedError for its dtype, and InarchError when its data does not fit its shape.
    """
    where = f"{where}: tensor '{tensor.name}'" if tensor.name else where
    narrow = narrow_dtype(tensor.data_type)
    dtype, bits = narrow or (element_dtype(tensor.data_type), 0)
    bits = bits or dtype.bits
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise InarchError(f"expected sizes >= 0, found {list(shape)}", where=where)
    check_shape(shape, dtype.nbytes, where)
    if tensor.data_location == EXTERNAL:
        raw = external_bytes(tensor, -(-math.prod(shape) * bits // 8), folders, where)
    elif raw is None and tensor.HasField("raw_data"):
        raw = tensor.raw_data
    if raw is None:
        return _typed(tensor, dtype, shape, where)
    expected = -(-math.prod(shape) * bits // 8)
    if len(raw) != expected:
        raise InarchError(f"expected {expected} bytes of data, found {len(raw)}", where=where)
    if narrow is not None:
        return _unpacked(np.frombuffer(raw, np.uint8), dtype, bits, shape)
    if dtype.name == "i1":
        return np.frombuffer(raw, np.uint8).reshape(shape) != 0
    return np.frombuffer(raw, dtype.numpy).reshape(shape)


def narrow_dtype(element_type: int) -> tuple[DType, int] | None:
    """The dtype in which constants of a TensorProto.DataType of 2 or 4 bits are read, and those bits."""
    found = _NARROW.get(element_type)
    return None if found is None else (DTYPES[found[0]], found[1])


def _unpacked(packed: Array, dtype: DType, bits: int, shape: tuple[int, ...]) -> Array:
    """Integers of 2 or 4 bits, the first in the lowest bits of each byte, as bytes."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    found = ((packed[:, None] >> shifts) << np.uint8(8 - bits)).reshape(-1)[: math.prod(shape)]
    # Down again as the dtype has it: with the sign, or without.
    return (found.view(dtype.numpy) >> np.array(8 - bits, dtype.numpy)).reshape(shape)


def _typed(tensor: TensorProto, dtype: DType, shape: tuple[int, ...], where: str) -> Array:
    values = getattr(tensor, _FIELDS.get(dtype.name, "int32_data"))
    if (narrow := narrow_dtype(tensor.data_type)) is not None:
        count = -(-math.prod(shape) * narrow[1] // 8)
        if len(values) != count:
            raise InarchError(
                f"expected {count} bytes of data, one a number, found {len(values)}", where=where
            )
        return _unpacked(np.array(values, np.int32).astype(np.uint8), dtype, narrow[1], shape)
    if len(values) != math.prod(shape):
        raise InarchError(
            f"expected {math.prod(shape)} numbers of data, found {len(values)}", where=where
        )
    wide = np.array(values, "int32" if dtype.name not in _FIELDS else None)
    if dtype.is_stored:  # its bits, each in an int32
        return wide.astype(f"uint{dtype.bits}").view(dtype.numpy).reshape(shape)
    return wide.astype(dtype.numpy).reshape(shape)


def external_bytes(
    tensor: TensorProto, expected: int | None, folders: Folders, where: str
) -> memoryview:
    """The one door of external data: of a regular file in the model's folder, or in that it links to.

    `expected`: how many bytes; None: as many as the model says, or there are. Raises InarchError.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    offset = _number(entries.get("offset", "0"), "offset", where)
    given = _number(entries["length"], "length", where) if "length" in entries else expected
    place, held = _file(entries.get("location", ""), folders, where)
    length = len(held) - offset if given is None else given
    data = held[offset : offset + length]
    wanted = length if expected is None else expected
    if length != wanted or len(data) != wanted:
        found = length if length != wanted else len(data)
        raise InarchError(
            f"expected {wanted} bytes at {offset} of '{place}', found {found}", where=where
        )
    return data


def _file(location: str, folders: Folders, where: str) -> tuple[object, memoryview]:
    """What errors call the file that a model calls `location`, and its bytes."""
    if folders.given:
        if location not in folders.given:
            raise InarchError(
                f"its data is external, in '{location}': expected that among the files in memory, found "
                f"{', '.join(folders.given)}",
                where=where,
            )
        return location, folders.given[location]
    if folders.model is None:
        raise InarchError(
            f"its data is external, in '{location}': expected the model as a path", where=where
        )
    others = [folders.target] if folders.target is not None else []
    real = real_inside(location, folders.model, others)
    if real is None:
        raise InarchError(
            f"expected external data in the model's folder, found '{location}'", where=where
        )
    path = folders.model / normpath(location)
    folders.read.setdefault(path, state_of(path))
    try:
        if real not in folders.data:
            folders.data[real] = folders.files.map(real)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InarchError(
            f"expected external data in '{path}', found {reason}", where=where
        ) from error
    return path, folders.data[real]


def _number(text: str, what: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise InarchError(
            f"expected the {what} of external data to be a number, found '{text}'", where=where
        )
    return int(text)
