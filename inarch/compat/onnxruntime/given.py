"""A model with the values, and the files of external data, that session options have for it."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.compat.onnxruntime.options import SessionOptions
from inarch.core.errors import InarchError, UnsupportedError
from inarch.core.lazy import Array
from inarch.core.outside.regular import read_regular

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

_MOST = 2**31 - 1
"""Bytes of a message of protobuf."""


def with_given(source: Path | bytes, options: SessionOptions) -> Path | bytes:
    """The model as bytes, with all of it inside; `source` where the options have nothing for it.

    Raises InarchError for values that do not fit, as the import does for files.
    """
    folder = options.folder if isinstance(source, bytes) else None
    if not (options.given or options.external or options.files or folder):
        return source
    from onnx import ModelProto

    from inarch.frontends.onnx import load_model
    from inarch.frontends.onnx.tensors import Folders
    from inarch.frontends.onnx.whole import take_external

    try:
        loaded = load_model(source)
    except InarchError:
        return source  # which tells why, as any other one
    model = ModelProto.FromString(source if isinstance(source, bytes) else read_regular(source))
    for tensor, array in _replaced(model, options, loaded.where):
        _replace(tensor, array, loaded.where)
    beside = Path(folder).absolute() if folder else None
    folders = Folders(loaded.folder or beside, loaded.target, given=options.files)
    take_external(model, folders, loaded.where)
    if model.ByteSize() > _MOST:
        raise UnsupportedError(
            "a model of more than 2 GiB with values that are given for it; save it with them"
        )
    return model.SerializeToString(deterministic=True)


def _replaced(
    model: ModelProto, options: SessionOptions, where: str
) -> Iterator[tuple[TensorProto, Array]]:
    """Initializers and their new values."""
    by_name = {tensor.name: tensor for tensor in model.graph.initializer}
    for name, array in options.given.items():
        if name in by_name:
            yield by_name[name], array
    from inarch.frontends.onnx.tensors import EXTERNAL

    for name, array in options.external.items():
        if name not in by_name or by_name[name].data_location != EXTERNAL:
            raise InarchError(
                f"expected initializers with external data, found '{name}'", where=where
            )
        yield by_name[name], array


def _replace(tensor: TensorProto, array: Array, where: str) -> None:
    from onnx import numpy_helper

    found = numpy_helper.from_array(array, tensor.name)
    if (found.data_type, [*found.dims]) != (tensor.data_type, [*tensor.dims]):
        raise InarchError(
            f"initializer '{tensor.name}': expected a value of shape {[*tensor.dims]} and type "
            f"{tensor.data_type}, found {[*found.dims]} and {found.data_type}",
            where=where,
        )
    tensor.CopyFrom(found)
