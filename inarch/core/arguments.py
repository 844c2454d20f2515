"""The arguments of the Python interface, checked before anything is done with them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, cast

from inarch.core.errors import UsageError
from inarch.core.lazy import Array, np


def checked_dims(dims: object) -> dict[str, int]:
    """Sizes by name: a mapping of strings to integers, of NumPy's kinds as well.

    Raises UsageError for anything else; bools are no sizes.
    """
    sizes: dict[str, int] = {}
    for name, value in _items("dims", dims, "{'batch': 1}"):
        sizes[name] = _size(f"dims['{name}']", value)
    return sizes


def checked_threads(threads: object) -> int:
    """How many threads run a call. Raises UsageError for what is no whole number from 1 on."""
    if type(threads) is not int or not 1 <= threads < 1 << 31:
        raise UsageError(f"threads: expected a whole number from 1 on, found {_shown(threads)}")
    return threads


def checked_shapes(shapes: object) -> dict[str, tuple[int, ...]]:
    """Shapes by name: a mapping of strings to sequences of integers. Raises UsageError."""
    found: dict[str, tuple[int, ...]] = {}
    for name, value in _items("shapes", shapes, "{'x': (1, 3, 224, 224)}"):
        role = f"shapes['{name}']"
        try:
            sizes = () if isinstance(value, str | bytes) else tuple(value)
        except TypeError:
            sizes = None
        if sizes is None or isinstance(value, str | bytes):
            raise UsageError(f"{role}: expected a tuple of sizes, found {_shown(value)}")
        found[name] = tuple(_size(f"{role}[{i}]", size) for i, size in enumerate(sizes))
    return found


def checked_values(values: object) -> dict[str, Array]:
    """Arrays by name: a mapping of strings to what NumPy takes for one. Raises UsageError."""
    found: dict[str, Array] = {}
    for name, value in _items("values", values, "{'axis': 1}"):
        try:
            found[name] = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"values['{name}']: expected an array, found {_shown(value)}"
            ) from error
        if found[name].dtype.kind not in "biuf":
            raise UsageError(
                f"values['{name}']: expected an array of numbers, found {_shown(value)}"
            )
    return found


def checked_metadata(metadata: object) -> dict[str, str]:
    """Texts by name. Raises UsageError for anything else."""
    found: dict[str, str] = {}
    for name, value in _items("metadata", metadata, "{'author': 'me'}"):
        found[name] = checked_text(f"metadata['{name}']", value, "1.2")
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"metadata: expected text of whole characters, found {_shown(f'{name}={value}')}"
            ) from None
    return found


def checked_text(role: str, value: object, example: str) -> str:
    """A string. Raises UsageError for anything else."""
    if not isinstance(value, str):
        raise UsageError(f"{role}: expected a string such as '{example}', found {_shown(value)}")
    return value


def checked_path(value: object) -> Path:
    """A path. Raises UsageError for what is none."""
    if not isinstance(value, str | PathLike):
        raise UsageError(f"expected the path of an artifact, found {_shown(value)}")
    return Path(cast("str | PathLike[str]", value))


def _items(role: str, value: object, example: str) -> list[tuple[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise UsageError(f"{role}: expected a dict such as {example}, found {_shown(value)}")
    items = list(cast("Mapping[Any, Any]", value).items())
    for name, _ in items:
        if not isinstance(name, str):
            raise UsageError(f"{role}: expected names as keys, found {_shown(name)}")
    return items


def _size(role: str, value: object) -> int:
    try:
        if type(value).__name__ not in ("bool", "bool_"):  # Python's, and NumPy's before 2.0
            return operator.index(cast("Any", value))
    except TypeError:
        pass
    raise UsageError(f"{role}: expected a whole number, found {_shown(value)}")


def _shown(value: object) -> str:
    """`value` as messages print it: itself where it is short, with what it is."""
    text = repr(value)
    kind = type(value).__name__
    return f"{text} (a {kind})" if len(text) <= 40 and value is not None else f"a {kind}"
