"""How the values of options that several commands share are read."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from inarch.core.errors import InarchError, UsageError, unknown

if TYPE_CHECKING:
    from inarch.core.lazy import Array
    from inarch.machine.machine import Machine

T = TypeVar("T")


def chosen_machine(arguments: argparse.Namespace) -> Machine | None:
    """What `--machine` names; without it, for the target `native`, this computer as far as it is known."""
    from inarch.machine.find import find_machine, this_machine

    if arguments.machine is not None:
        return find_machine(arguments.machine)
    return this_machine() if arguments.target == "native" else None


def backends_of(texts: Sequence[str]) -> list[str]:
    """The instances that the texts of `--backend` ask for, one text each. Raises UsageError."""
    if not texts:
        return []
    from inarch.driver.offload import Offload  # it takes a while

    return list(map(str, Offload(texts).asked().values()))


def backend_options_of(texts: Iterable[str]) -> dict[str, dict[str, object]]:
    """The values of `--backend-option` by instance and option. Raises UsageError."""
    found: dict[str, dict[str, object]] = {}
    for text in texts:
        from inarch.driver.offload import parse_option  # it takes a while

        backend, option, value = parse_option(text, "--backend-option")
        found.setdefault(backend, {})[option] = value
    return found


def places_of(texts: Iterable[str]) -> dict[str, str]:
    """The values of `--place PASS=WHERE` by pass. Raises UsageError."""
    return _once("--place", map(_place, texts))


def microkernel_names(texts: Iterable[str], option: str) -> list[str]:
    """What an option asks for, each once, all kernels known. Raises UsageError."""
    for text in texts:
        # It takes a while.
        from inarch.microkernel.demanded import demanded_of
        from inarch.microkernel.table import MICROKERNELS, TEMPLATES

        name = demanded_of(text).name
        known = [*MICROKERNELS, *(TEMPLATES if option == "--without" else ())]
        if name not in known:
            raise unknown("microkernel", name, known, within=option)
    return list(dict.fromkeys(texts))


def metadata_of(texts: Iterable[str]) -> dict[str, str]:
    """The texts of `--metadata KEY=VALUE` by name. Raises UsageError."""
    return _once("--metadata", map(_metadata, texts))


def _metadata(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--metadata: expected KEY=VALUE, found '{text}'")
    return key, value


def sets_of(texts: Sequence[str]) -> list[dict[str, int]]:
    """What `--specialize` says: sets of sizes.

    `batch=1,8` and `seq=128` are all combinations; `batch=1,seq=128` and `batch=8,seq=32` are these two.

    >>> sets_of(["batch=1,8", "seq=128"])
    [{'batch': 1, 'seq': 128}, {'batch': 8, 'seq': 128}]
    >>> sets_of(["batch=1,seq=128", "batch=8,seq=32"])
    [{'batch': 1, 'seq': 128}, {'batch': 8, 'seq': 32}]
    """
    groups: list[dict[str, list[int]]] = []
    for text in texts:
        sizes: dict[str, list[int]] = {}
        name = ""
        for part in text.split(","):
            head, equals, value = part.rpartition("=")
            name = head if equals else name
            if not name or not _is_whole(value):
                raise UsageError(
                    f"--specialize: expected NAME=SIZE,SIZE... with whole numbers, found '{text}'"
                )
            sizes.setdefault(name, []).append(int(value))
        groups.append(sizes)
    if all(len(group) == 1 for group in groups):
        merged: dict[str, list[int]] = {}
        for group in groups:
            for name, values in group.items():
                merged.setdefault(name, []).extend(values)
        groups = [merged] if merged else []
    return [
        dict(zip(group, values, strict=True))
        for group in groups
        for values in product(*group.values())
    ]


def dims_of(texts: Iterable[str]) -> dict[str, int]:
    """The values of `--dim NAME=VALUE` by name. Raises UsageError."""
    return _once("--dim", map(_dim, texts))


def shapes_of(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """The shapes of `--shape INPUT=1x3x224x224` by name. Raises UsageError."""
    return _once("--shape", map(_shape, texts))


def values_of(texts: Iterable[str]) -> dict[str, Array]:
    """The arrays of `--value INPUT=0,2` or `INPUT=FILE.npy` by name. Raises UsageError."""
    found: dict[str, Array] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"--value: expected INPUT=NUMBERS or INPUT=FILE.npy, found '{text}'")
        if name in found:
            raise UsageError(f"--value: '{name}' is given twice")
        found[name] = _array_of(text, value)
    return found


def _array_of(text: str, value: str) -> Array:
    from inarch.core.lazy import np

    if value.endswith(".npy"):
        array = arrays_of("--value", "INPUT=NUMBERS or INPUT=FILE.npy", text, value)
        if isinstance(array, dict):
            raise UsageError(f"--value: expected one array, found the archive '{value}'")
        return array
    try:
        numbers = [_number(part) for part in value.split(",")]
    except ValueError as error:
        raise UsageError(
            f"--value: expected INPUT=NUMBERS or INPUT=FILE.npy, found '{text}'"
        ) from error
    return np.array(numbers if "," in value else numbers[0])


def arrays_of(option: str, form: str, text: str, path: str = "") -> Array | dict[str, Array]:
    """What the file at `path` in the `text` of an option holds: an array, or several by name.

    `form`: how the option is written. Raises UsageError.
    """
    from inarch.core.npz import EXPECTED, read_arrays

    path = path or text
    try:
        return read_arrays(Path(path))
    except InarchError as error:
        place = "" if path == text else f"'{path}': "
        reason = error.message.removeprefix(f"{EXPECTED}: ")
        raise UsageError(
            f"{option}: expected {form} with arrays in a .npy or .npz file, found '{text}': {place}{reason}"
        ) from error


def _number(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)


def _once(option: str, pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """The values by name. Raises UsageError when a name has two."""
    found: dict[str, T] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise UsageError(f"{option}: '{name}' is given twice: {found[name]} and {value}")
    return found


def many(metavar: str, **more: Any) -> dict[str, Any]:
    """For argparse: an option that may be given several times."""
    return {"action": "append", "default": [], "metavar": metavar, **more}


def count(text: str) -> int:
    """For argparse: a whole number that is not negative."""
    if not _is_whole(text):
        raise argparse.ArgumentTypeError(f"expected a whole number >= 0, found '{text}'")
    return int(text)


def at_least_one(text: str) -> int:
    """For argparse: a whole number that is not 0, nor negative."""
    if not _is_whole(text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number >= 1, found '{text}'")
    return int(text)


def check_output(output: Path, model: Path) -> None:
    """Refuses an output that cannot be written, or is the model itself, before the work."""
    from inarch.core.cache import check_writable

    if str(output) == "-":
        raise UsageError("-o: expected a file, found '-'; only text goes to the terminal")
    check_writable(output)
    if output.exists() and model.exists() and output.samefile(model):
        raise UsageError(f"-o: expected another file than the model, found '{output}'")


def _is_whole(text: str) -> bool:
    """Whether `text` is a whole number that a size can be; other scripts have digits too."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


def _dim(text: str) -> tuple[str, int]:
    name, equals, value = text.rpartition("=")
    if not equals or not _is_whole(value) or not name:
        raise UsageError(f"--dim: expected NAME=VALUE with a whole number, found '{text}'")
    return name, int(value)


def _place(text: str) -> tuple[str, str]:
    name, equals, where = text.partition("=")
    if not equals or not name or not where:
        raise UsageError(f"--place: expected PASS='after PLACE', found '{text}'")
    return name, where


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, value = text.rpartition("=")
    sizes = value.split("x") if value not in ("", "scalar") else []
    if not equals or not name or not all(map(_is_whole, sizes)):
        raise UsageError(f"--shape: expected INPUT=1x3x224x224, found '{text}'")
    return name, tuple(int(size) for size in sizes)
