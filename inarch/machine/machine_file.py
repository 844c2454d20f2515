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

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

from inarch.core.errors import InarchError, UsageError
from inarch.core.outside.regular import read_regular_text
from inarch.core.outside.value import Document, Value
from inarch.core.plugins import Extensions
from inarch.machine.machine import Cache, Machine, ranges

Table = Mapping[str, Any]
Locate = Callable[[str], str]
"""The keys that lead to a value, `l1.bytes` -> where it stands."""


def machine_from(table: Table, locate: Locate) -> Machine:
    """The machine that the keys and values of `table` are. Raises UsageError, located, for wrong ones."""
    document = Document(
        locate, fault=UsageError, is_closed=True, remedy="`inarch machine` prints a whole one"
    )
    top = Value(table, "", document)
    machine = top.read(Machine)
    for name in ("l1", "l2", "l3"):
        cache: Cache | None = getattr(machine, name)
        if cache is not None and cache.bytes < cache.ways * machine.line_bytes:
            ways = f"a line of {machine.line_bytes} for each of {cache.ways} ways"
            raise top[name]["bytes"].error(ways)
    if machine.cpus and not _are_cpus(machine.cpus):
        raise top["cpus"].error("CPUs such as 'AuthenticAMD 25: 0-15, 32-47' or '0x41: 0xd0c'")
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
            own = cast("dict[str, Any]", value)  # pyrefly: ignore[redundant-cast] - pyright: Unknown
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
    return machine_from({"name": name, **table}, lambda path: f"{where}:{_line(text, path)}")


def _line(text: str, path: str) -> int:
    """The line of a key of a table, of the table, else the first."""
    lines, keys = text.splitlines(), path.split(".") if path else []
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
    kinds = get_type_hints(Machine).items()
    return tuple([n for n, kind in kinds if any(map(is_dataclass, (kind, *get_args(kind))))])


def _literal(value: object) -> str:
    if isinstance(value, str):
        return '"' + re.sub(r'[\0-\x1f\x7f"\\]', lambda one: f"\\u{ord(one[0]):04x}", value) + '"'
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


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
