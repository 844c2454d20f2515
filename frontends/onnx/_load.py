"""From a path, bytes or a proto to a checked `onnx.ModelProto`, with one error a way to be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from inarch.core.errors import InarchError, UsageError, needing
from inarch.core.outside.regular import real_path
from inarch.frontends.onnx._names import check_names
from inarch.frontends.onnx._wire import MalformedError, Split, split_weights
from inarch.ir.payload.mapped import MappedFiles

if TYPE_CHECKING:
    from onnx import ModelProto

Source = "str | PathLike[str] | bytes | ModelProto"

IN_MEMORY = "<model>"
"""How messages call a model that has no path."""


@dataclass(frozen=True)
class Loaded:
    """A model, where it came from, and the weights that are not in the message."""

    model: ModelProto
    where: str
    stem: str
    folder: Path | None = None
    """Where external data is: the folder of the model's file."""
    target: Path | None = None
    """The same behind links: a cache of models may link both the model and its data."""
    weights: Mapping[int, memoryview] = field(default_factory=dict[int, memoryview])
    """Raw bytes by index of initializer."""
    files: MappedFiles = field(default_factory=MappedFiles)
    """What `weights` are parts of."""


def load_model(source: object) -> Loaded:
    """Reads `source`. Raises InarchError for whatever is not an ONNX model with a graph."""
    with needing(
        "reading ONNX needs the package 'onnx'; install it with: pip install inarch[onnx]",
        UsageError,
    ):
        from onnx import ModelProto
    if isinstance(source, ModelProto):
        loaded = Loaded(source, IN_MEMORY, source.graph.name)
    elif isinstance(source, bytes | bytearray | memoryview):
        split = _split(memoryview(bytes(cast("bytes", source))), IN_MEMORY)
        model = _parse(split.message, IN_MEMORY)
        loaded = Loaded(model, IN_MEMORY, model.graph.name, weights=split.weights)
    elif isinstance(source, str | PathLike):
        loaded = _load_file(Path(cast("str", source)))
    else:
        raise UsageError(
            "expected a path, bytes or an onnx.ModelProto; "
            f"found an object of type {type(source).__name__}"
        )
    if not loaded.model.HasField("graph"):
        raise _not_onnx(loaded.where, "a message without a graph")
    check_names(loaded.model, loaded.where)
    return loaded


def _load_file(path: Path) -> Loaded:
    where, files = str(path), MappedFiles()
    if path.is_dir():
        raise _not_onnx(where, "a folder")
    try:
        data = files.map(path)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else f"{error.strerror}"
        raise _not_onnx(where, reason) from error
    split = _split(data, where)
    model = _parse(split.message, where)
    return Loaded(
        model, where, path.stem, path.parent, real_path(path).parent, split.weights, files
    )


def _split(data: memoryview, where: str) -> Split:
    if not data:
        raise _not_onnx(where, "an empty file")
    try:
        return split_weights(data)
    except MalformedError as error:
        raise _not_onnx(where, _describe(bytes(data[:64]), str(error))) from error


def _parse(message: bytes, where: str) -> ModelProto:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    try:
        return ModelProto.FromString(message)
    except DecodeError as error:
        raise _not_onnx(where, _describe(message[:64], "not a protobuf message")) from error


_FOREIGN = {
    b"version https://git-lfs": "a pointer of Git LFS; fetch the model with: git lfs pull",
    b"PK\x03\x04": "a zip archive, as PyTorch writes; export it to ONNX, with torch.onnx.export",
    b"\x89HDF": "an HDF5 file, as Keras writes; export it to ONNX, with tf2onnx",
    b"\x7fELF": "a shared library or an artifact; inarch.load and 'inarch run' take artifacts",
}
"""What other files that are called .onnx begin with."""


def _describe(start: bytes, reason: str) -> str:
    """What a file that starts with `start` is, when it is no message for `reason`."""
    for begin, found in _FOREIGN.items():
        if start.startswith(begin):
            return found
    try:
        text = start.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if all(char.isprintable() or char.isspace() for char in text):
        return "text"
    return f"a truncated or damaged file ({reason})"


def _not_onnx(where: str, found: str) -> InarchError:
    return InarchError(f"expected an ONNX model, found {found}", where=where)
