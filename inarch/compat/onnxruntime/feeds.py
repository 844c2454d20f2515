"""What a caller gives for inputs: as arrays that fit, or the exceptions of onnxruntime for what does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from inarch.compat.onnxruntime.described import NAMES, TYPES, NodeArg
from inarch.compat.onnxruntime.errors import Fail, InvalidArgument, error
from inarch.compat.onnxruntime.values import OrtValue
from inarch.core.lazy import Array, np


def check_names(
    feed: Iterable[str], inputs: Sequence[NodeArg], defaults: Sequence[NodeArg]
) -> None:
    """Raises ValueError for inputs that are missing, InvalidArgument for others than there are."""
    given = list(feed)
    missing = [arg.name for arg in inputs if arg.name not in given]
    if missing:
        raise ValueError(f"Required inputs ({missing}) are missing from input feed ({given}).")
    known = {arg.name for arg in (*inputs, *defaults)}
    for name in given:
        if name not in known:
            raise error(InvalidArgument, f"Invalid input name: {name}")


def checked(value: object, arg: NodeArg) -> Array:
    """The array of an input: row-major, in the byte order of this machine.

    Lists become arrays of the input's type. Raises InvalidArgument for another dtype or shape.
    """
    array = _array(value, arg)
    found = NAMES.get(array.dtype.name, f"tensor({array.dtype.name})")
    if array.dtype.kind in "US":
        found = "tensor(string)"
    if found != arg.type:
        raise error(
            InvalidArgument,
            f"Unexpected input data type. Actual: ({found}) , expected: ({arg.type})",
        )
    if arg.has_rank and len(arg.shape) != array.ndim:
        raise error(
            InvalidArgument,
            f"Invalid rank for input: {arg.name} Got: {array.ndim} Expected: {len(arg.shape)} Please fix "
            "either the inputs/outputs or the model.",
        )
    wrong = [
        f" index: {at} Got: {size} Expected: {dim}"
        for at, (size, dim) in enumerate(zip(array.shape, arg.shape, strict=arg.has_rank))
        if isinstance(dim, int) and dim != size
    ]
    if wrong:
        listed = "\n".join(wrong)
        raise error(
            InvalidArgument,
            f"Got invalid dimensions for input: {arg.name} for the following indices\n{listed}\n"
            " Please fix either the inputs/outputs or the model.",
        )
    return array


def _array(value: object, arg: NodeArg) -> Array:
    if isinstance(value, OrtValue):
        return value.numpy()
    if value is None:
        raise error(Fail, f"Missing Input: {arg.name}")
    if isinstance(value, list):
        try:
            return np.array(cast("list[Any]", value), TYPES.get(arg.type))
        except (ValueError, TypeError) as found:
            raise RuntimeError(
                f"Could not create tensor from given input list: {arg.name}: {found}"
            ) from found
    if isinstance(value, str | bytes | tuple | Mapping):
        raise RuntimeError(
            f"Input must be a list of dictionaries or a single numpy array for input '{arg.name}'."
        )
    if not isinstance(value, np.ndarray):
        raise RuntimeError(f"Unable to handle object of type {type(value)}")
    array = cast("Array", value)
    if array.flags.c_contiguous and array.dtype.isnative:
        return array
    # Not np.ascontiguousarray, which gives an array without dimensions one.
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")
