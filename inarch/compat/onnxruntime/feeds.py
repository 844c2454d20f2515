"""What a caller gives for inputs: as arrays that fit, or the exceptions of onnxruntime for what does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from inarch.compat.onnxruntime.described import NAMES, TYPES, NodeArg
from inarch.compat.onnxruntime.errors import InvalidArgument, error
from inarch.compat.onnxruntime.options import RunOptions
from inarch.compat.onnxruntime.values import OrtValue, check_kind
from inarch.core.lazy import Array, np


def check_missing(feed: Mapping[str, object], inputs: Sequence[NodeArg]) -> None:
    """Raises ValueError for inputs that are missing."""
    given = list(feed.keys())
    missing = [arg.name for arg in inputs if arg.name not in given]
    if missing:
        raise ValueError(f"Required inputs ({missing}) are missing from input feed ({given}).")


def checked_types(outputs: object, feed: Mapping[Any, object], options: object) -> tuple[str, ...]:
    """The outputs' names; () for all. Raises TypeError for what are no names, and for what are no options."""
    if outputs and (
        isinstance(outputs, str | bytes | Mapping) or not isinstance(outputs, Iterable)
    ):
        raise TypeError(f"run(): expected a sequence of names of outputs, found {outputs!r}")
    names = tuple(cast("Iterable[str]", outputs or ()))
    for name in (*names, *feed):
        if not isinstance(name, str):
            raise TypeError(f"run(): expected names of inputs and outputs, found {name!r}")
    if options is not None and not isinstance(options, RunOptions):
        raise TypeError(f"run_options: expected RunOptions, found {type(options).__name__}")
    return names


def checked_feed(
    feed: Mapping[str, object], args: Mapping[str, NodeArg], defaults: Sequence[NodeArg] = ()
) -> dict[str, Array]:
    """The arrays of a feed, without entries that are None. A list is refused for one of `defaults`.

    Raises RuntimeError for other objects, then InvalidArgument for a wrong type or shape.
    """
    given = {name: value for name, value in feed.items() if value is not None}
    for arg in defaults:
        if isinstance(given.get(arg.name), list):
            raise RuntimeError(
                f"Failed to find input with name: {arg.name} in the model input def list"
            )
    found = {name: array_of(value, name, args.get(name)) for name, value in given.items()}
    for name, array in found.items():
        if name not in args:
            raise error(InvalidArgument, f"Invalid input name: {name}")
        check(array, args[name])
    return found


def check(array: Array, arg: NodeArg) -> None:
    """Raises InvalidArgument for another dtype or shape than the input's; a scalar may have any shape."""
    found = NAMES.get(array.dtype.name, f"tensor({array.dtype.name})")
    if array.dtype.kind in "US":
        found = "tensor(string)"
    if found != arg.type:
        raise error(
            InvalidArgument,
            f"Unexpected input data type. Actual: ({found}) , expected: ({arg.type})",
        )
    if not arg.shape:
        return
    if len(arg.shape) != array.ndim:
        raise error(
            InvalidArgument,
            f"Invalid rank for input: {arg.name} Got: {array.ndim} Expected: {len(arg.shape)} Please fix "
            "either the inputs/outputs or the model.",
        )
    wrong = [
        f" index: {at} Got: {size} Expected: {dim}"
        for at, (size, dim) in enumerate(zip(array.shape, arg.shape, strict=True))
        if isinstance(dim, int) and dim != size
    ]
    if wrong:
        raise error(
            InvalidArgument,
            f"Got invalid dimensions for input: {arg.name} for the following indices",
            *wrong,
            " Please fix either the inputs/outputs or the model.",
        )


def array_of(value: object, name: str, arg: NodeArg | None) -> Array:
    """The array of an input: row-major, aligned, in the byte order of this machine.

    Lists become arrays of the input's type. Raises RuntimeError for other objects.
    """
    if isinstance(value, OrtValue):
        value = value.numpy()
    if isinstance(value, list):
        try:
            return np.array(cast("list[Any]", value), TYPES.get(arg.type) if arg else None)
        except (ValueError, TypeError) as found:
            raise RuntimeError(
                f"Could not create tensor from given input list: {name}: {found}"
            ) from found
    if isinstance(value, str | bytes | tuple | Mapping):
        raise RuntimeError(
            f"Input must be a list of dictionaries or a single numpy array for input '{name}'."
        )
    if not isinstance(value, np.ndarray):
        raise RuntimeError(f"Unable to handle object of type {type(value)}")
    array = cast("Array", value)
    check_kind(array)
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    found = np.empty(array.shape, array.dtype.newbyteorder("="))
    found[...] = array
    return found
