"""Machines as TOML: what `--machine FILE` and `inarch/machine/machines/*.toml` are read from, and printed as.

    ghz = 3.7
    cores = 8
    ...
    [l1]
    bytes = 32768
    ...
    [fma]      # a cycle, by the bytes of a vector
    16 = 2
    64 = 1

Keys are the fields of `Machine`; the file's name is the machine's, unless `name` says another.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.core.outside.regular import read_regular_text
from inarch.core.plugins import Extensions
from inarch.machine.machine import Cache, Machine, Ports, ranges

Table = Mapping[str, Any]
Locate = Callable[[tuple[str, ...]], str]
"""The keys that lead to a value -> where it stands."""


def machine_from(table: Table, locate: Locate) -> Machine:
    """The machine that the keys and values of `table` are. Raises UsageError, located, for wrong ones."""
    machine: Machine = _read(Machine, table, (), locate)
    for name in ("l1", "l2", "l3"):
        cache: Cache | None = getattr(machine, name)
        if cache is not None and cache.bytes < cache.ways * machine.line_bytes:
            raise UsageError(
                f"expected {name}.bytes of a line of {machine.line_bytes} for each of {cache.ways} ways, "
                f"found {cache.bytes}",
                where=locate((name, "bytes")),
            )
    if machine.cpus and not _are_cpus(machine.cpus):
        raise UsageError(
            "expected cpus such as 'AuthenticAMD 25: 0-15, 32-47' or '0x41: 0xd0c', "
            f"found {_shown(machine.cpus)}",
            where=locate(("cpus",)),
        )
    return machine


def _are_cpus(text: str) -> bool:
    family, _, models = text.partition(":")
    try:
        return bool(family.strip()) and all(first <= last for first, last in ranges(models))
    except ValueError:
        return False


def table_of(machine: Machine) -> dict[str, Any]:
    """The table that `machine_from` takes."""
    found: dict[str, Any] = {}
    for name, value in asdict(machine).items():
        if isinstance(value, dict):
            own = cast("dict[str, Any]", value)
            is_ports = "by_bytes" in own
            found[name] = {str(at): n for at, n in own["by_bytes"]} if is_ports else own
        elif value not in (None, ""):
            found[name] = value
    return found


def machine_text(machine: Machine) -> str:
    """The machine as TOML."""
    table = table_of(machine)
    lines = [f"{key} = {_literal(value)}" for key, value in table.items() if key not in _tables()]
    for name in _tables():
        if name in table:
            lines += ["", f"[{name}]"]
            lines += [f"{key} = {_literal(value)}" for key, value in table[name].items()]
    return "\n".join(lines) + "\n"


def read_machine_file(path: Path) -> Machine:
    """The machine that a file describes. Raises UsageError at a place in it: `my.toml:7`."""
    try:
        text = read_regular_text(path)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError("expected UTF-8 text", where=str(path)) from error
    return machine_of_text(text, path.stem.replace("_", "-"), str(path))


def machine_of_text(text: str, name: str, where: str) -> Machine:
    """The machine `name` that a TOML text describes. Raises UsageError at a line of `where`."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        message, _, place = str(error).partition(" (at ")
        line = (re.findall(r"line (\d+)", place) or [str(text.count("\n") + 1)])[0]
        raise UsageError(
            f"expected TOML: {message[:1].lower()}{message[1:]}", where=f"{where}:{line}"
        ) from error
    return machine_from({"name": name, **table}, lambda keys: f"{where}:{_line(text, keys)}")


def _line(text: str, keys: tuple[str, ...]) -> int:
    """The line of a key of a table, of the table, else the first."""
    lines = text.splitlines()
    header = rf"\s*\[\s*{re.escape(keys[0])}\s*\]" if keys else r"\Z."
    start = next((at for at, each in enumerate(lines) if re.match(header, each)), 0)
    if keys:
        own = rf"\s*\"?{re.escape(keys[-1])}\"?\s*="
        for at in range(start, len(lines)):
            if re.match(own, lines[at]):
                return at + 1
    return start + 1


def _tables() -> tuple[str, ...]:
    """The fields of a machine that are tables."""
    return tuple(name for name, kind in get_type_hints(Machine).items() if _dataclass(kind))


def _dataclass(kind: Any) -> Any:
    """The dataclass that a field is of, also where it may be None; None: a number or a text."""
    return next((each for each in (kind, *get_args(kind)) if is_dataclass(each)), None)


def _read(kind: Any, value: object, keys: tuple[str, ...], locate: Locate) -> Any:
    """`value` as a `kind`: a dataclass of fields, ports, a number, a text."""
    name = ".".join(keys)
    if (record := _dataclass(kind)) is not None:
        if not isinstance(value, Mapping):
            raise UsageError(f"expected a table {name}, found {_shown(value)}", where=locate(keys))
        table = cast("Table", value)
        if record is Ports:
            return _ports(table, keys, locate)
        return record(**dict(_fields(record, table, keys, locate)))
    if kind is str:
        if not isinstance(value, str) or not value:
            raise UsageError(
                f"expected a text for {name}, found {_shown(value)}", where=locate(keys)
            )
        return value
    return _number(kind, value, keys, locate)


def _fields(
    record: Any, table: Table, keys: tuple[str, ...], locate: Locate
) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(record)
    known: list[Field[Any]] = list(fields(record))
    names = [each.name for each in known]
    for key in table:
        if key not in names:
            within = f"[{'.'.join(keys)}]" if keys else "the machine"
            message = unknown("key", key, names, within=within).message
            raise UsageError(message, where=locate((*keys, key)))
    for each in known:
        own = (*keys, each.name)
        if each.name in table:
            yield each.name, _read(hints[each.name], table[each.name], own, locate)
        elif each.default is MISSING:
            raise UsageError(
                f"expected {'.'.join(own)}, which is missing; `inarch machine` prints a whole one",
                where=locate(keys),
            )


def _ports(table: Table, keys: tuple[str, ...], locate: Locate) -> Ports:
    found: list[tuple[int, float]] = []
    for key, value in table.items():
        own = (*keys, key)
        if not re.fullmatch(r"[1-9]\d{0,3}", key):
            raise UsageError(
                f"expected bytes of a vector such as 32 in [{'.'.join(keys)}], found '{key}'",
                where=locate(own),
            )
        found.append((int(key), _number(float, value, own, locate)))
    if not found:
        name = ".".join(keys)
        raise UsageError(
            f"expected {name} of some vectors, such as 16 = 2; found none", where=locate(keys)
        )
    return Ports(tuple(sorted(found)))


def _number(kind: Any, value: object, keys: tuple[str, ...], locate: Locate) -> int | float:
    """A positive number that a double holds."""
    wanted = "a whole number > 0" if kind is int else "a number > 0"
    is_number = type(value) is int or (kind is float and type(value) is float)
    number = cast("float", value) if is_number else 0
    if not is_number or not 0 < number <= _LARGEST or not math.isfinite(number):
        raise UsageError(
            f"expected {wanted} for {'.'.join(keys)}, found {_shown(value)}", where=locate(keys)
        )
    return kind(number)


_LARGEST = 1 << 50
"""Bytes, cycles, ...: more is a mistake."""


def _literal(value: object) -> str:
    if isinstance(value, str):
        return '"' + re.sub(r'[\0-\x1f\x7f"\\]', lambda one: f"\\u{ord(one[0]):04x}", value) + '"'
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a table"
    try:
        text = f"'{value}'" if isinstance(value, str) else repr(value)
    except ValueError:  # Python writes no such number in decimal
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _sound(thing: object, name: str) -> None:
    if not isinstance(thing, Machine):
        raise InarchError(
            f"expected a Machine, found {type(thing).__name__}", where=f"machine '{name}'"
        )


MACHINES: Extensions[Machine] = Extensions(
    "inarch.machine.machines",
    "MACHINE",
    readers={".toml": read_machine_file},
    check=_sound,
)
"""The machines that have a name, which is that of their file."""
