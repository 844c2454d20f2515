"""The files of a job: all that a worker needs of this computer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_BESIDE = (".so", ".a", ".o", ".h")
"""What a kernel's file may name that lies beside it: libraries and headers."""


def files_of(
    model: Path, loads: Sequence[Path], settings: Mapping[str, Any]
) -> tuple[dict[str, bytes], tuple[str, ...], dict[str, Any]]:
    """Name -> bytes; the names of those to be loaded; the settings with names for paths.

    The model and its external data, the loaded files and libraries beside them, and what settings name.
    Raises OSError for a file that cannot be read.
    """
    files = {model.name: model.read_bytes()}
    for name in _external(model):
        files[name] = (model.parent / name).read_bytes()
    names: list[str] = []
    for number, path in enumerate(loads):
        folder = f"load{number}"
        names.append(f"{folder}/{path.name}")
        files[names[-1]] = path.read_bytes()
        for beside in sorted(path.parent.glob("*")):
            if beside.suffix in _BESIDE and beside.is_file():
                files[f"{folder}/{beside.name}"] = beside.read_bytes()
    own = dict(settings)
    for option in ("schedule", "machine"):
        value = own.get(option)
        if value is not None and (option == "schedule" or str(value).endswith(".toml")):
            own[option] = f"{option}/{Path(value).name}"
            files[own[option]] = Path(value).read_bytes()
    return files, tuple(names), own


def _external(model: Path) -> Iterator[str]:
    """The files of an ONNX model's data, relative to its folder."""
    if model.suffix != ".onnx":
        return
    import onnx

    found: dict[str, None] = {}
    read = onnx.ModelProto()
    read.ParseFromString(model.read_bytes())
    for tensor in read.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            found |= {
                entry.value: None for entry in tensor.external_data if entry.key == "location"
            }
    yield from found
