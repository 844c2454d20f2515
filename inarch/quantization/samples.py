"""Samples of a model's inputs, with which a quantizer calibrates, and two models are compared.

An array of each input, by its name, in a .npz, or in several of a folder, one after the other in the order
of their names. Its first axis counts samples. Where an array has as many axes as the input, the first of
these is the batch: a sample is as many of its rows as the model takes at once (one, where that is open).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.core.errors import UsageError
from inarch.core.lazy import Array, np
from inarch.core.npz import read_arrays

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class Samples:
    """Of each input an array [samples, ...], whose elements are as the model takes them."""

    arrays: Mapping[str, Array]

    def __len__(self) -> int:
        return min((len(each) for each in self.arrays.values()), default=0)

    def __iter__(self) -> Iterator[dict[str, Array]]:
        for number in range(len(self)):
            yield {name: each[number] for name, each in self.arrays.items()}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of a sample of each input."""
        return {name: each.shape[1:] for name, each in self.arrays.items()}


def read_samples(path: Path, model: ModelProto, option: str) -> Samples:
    """The samples of a model's inputs in a .npz, or in those of a folder.

    Raises UsageError, of `option`, for what are none, and InarchError for a file that is no .npz.
    """
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{option}: expected .npz files in '{path}', found none")
    parts = [_arrays(file, option) for file in files]
    constant = {one.name for one in model.graph.initializer}
    found: dict[str, Array] = {}
    for port in model.graph.input:
        if port.name in constant:
            continue
        sizes = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
        of_files = [
            _samples(file, arrays, port.name, sizes, option)
            for file, arrays in zip(files, parts, strict=True)
        ]
        _check_shapes(files, of_files, port.name, option)
        found[port.name] = _typed(np.concatenate(of_files), port, option)
    counts = {name: len(each) for name, each in found.items()}
    if len({*counts.values()}) > 1 or not all(counts.values()):
        told = ", ".join(f"{count} of '{name}'" for name, count in counts.items())
        raise UsageError(f"{option}: expected as many samples of each input, found {told}")
    return Samples(found)


def _arrays(file: Path, option: str) -> Mapping[str, Array]:
    found = read_arrays(file)
    if not isinstance(found, dict):
        raise UsageError(f"{option}: expected a .npz of inputs by name, found '{file}'")
    return found


def _samples(
    file: Path, arrays: Mapping[str, Array], name: str, sizes: list[int], option: str
) -> Array:
    """Those of an input in a file, [samples, ...]; a size of 0 is open."""
    if name not in arrays:
        known = ", ".join(f"'{each}'" for each in arrays) or "none"
        raise UsageError(f"{option}: expected an array '{name}' in '{file}', found {known}")
    array, batch = arrays[name], (sizes or [0])[0] or 1
    if sizes and array.ndim == len(sizes) and not len(array) % batch:
        array = array.reshape(-1, batch, *array.shape[1:])
    fits = array.ndim == len(sizes) + 1 and all(
        size in (0, own) for size, own in zip(sizes, array.shape[1:], strict=True)
    )
    if not fits:
        wanted = "x".join(str(size or "?") for size in sizes) or "one number"
        raise UsageError(
            f"{option}: expected samples of '{name}' ({wanted}) along a first axis, "
            f"found shape {arrays[name].shape} in '{file}'"
        )
    return array


def _check_shapes(files: list[Path], arrays: list[Array], name: str, option: str) -> None:
    for file, array in zip(files, arrays, strict=True):
        if array.shape[1:] != arrays[0].shape[1:]:
            raise UsageError(
                f"{option}: expected samples of one shape, found '{name}' of {arrays[0].shape[1:]} in "
                f"'{files[0]}' and of {array.shape[1:]} in '{file}'"
            )


def _typed(array: Array, port: Any, option: str) -> Array:
    """In the dtype of the input: floats in another float, integers in another integer that holds them."""
    from onnx.helper import tensor_dtype_to_np_dtype

    wanted = tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
    if array.dtype == wanted:
        return np.ascontiguousarray(array)
    is_near = array.dtype.kind == wanted.kind == "f" or (
        array.dtype.kind in "iu" and wanted.kind in "iu"
    )
    made = np.ascontiguousarray(array.astype(wanted)) if is_near else array
    if not is_near or (wanted.kind in "iu" and not np.array_equal(made, array)):
        raise UsageError(f"{option}: expected '{port.name}' of {wanted}, found {array.dtype}")
    return made


def drawn_sample(model: ModelProto, option: str) -> Samples:
    """One sample of each input, random from a fixed seed. Raises UsageError, of `option`, for open sizes."""
    from onnx.helper import tensor_dtype_to_np_dtype

    from inarch.benchmark.model import random_array

    constant = {one.name for one in model.graph.initializer}
    found: dict[str, Array] = {}
    for port in model.graph.input:
        if port.name in constant:
            continue
        kind = port.type.tensor_type
        sizes = [dim.dim_value for dim in kind.shape.dim]
        if not all(sizes):
            raise UsageError(
                f"{option}: expected samples, as the model leaves sizes of '{port.name}' open, found none"
            )
        dtype = tensor_dtype_to_np_dtype(kind.elem_type).name
        found[port.name] = random_array((1, *sizes), dtype)
    return Samples(found)
