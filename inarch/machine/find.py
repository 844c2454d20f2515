"""Which machine is meant: one of a name, that of a file, or this computer, as it was measured or is known."""

from __future__ import annotations

import os
import platform
from dataclasses import fields
from functools import cache
from pathlib import Path

from inarch.core.cache import default_cache, key_of
from inarch.core.errors import InarchError
from inarch.machine.here import as_here
from inarch.machine.machine import Machine
from inarch.machine.machine_file import (
    MACHINES,
    machine_of_text,
    machine_text,
    read_machine_file,
)
from inarch.machine.target import NATIVE

MEASURED = "measured"
"""The name of a machine that `inarch machine --measure` made."""
CPUINFO = Path("/proc/cpuinfo")


def find_machine(text: str) -> Machine:
    """The machine of a name, or of a file: `zen4`, `my.toml`, `measured`. Raises UsageError."""
    if text == MEASURED and (own := measured_machine()) is not None:
        return own
    if text.endswith(".toml") or "/" in text:
        return read_machine_file(Path(text))
    return MACHINES[text]


def measured_machine() -> Machine | None:
    """This computer, if it was measured."""
    content = default_cache().get(_key())
    return machine_of_text(content.decode(), MEASURED, MEASURED) if content is not None else None


def keep_measured(machine: Machine) -> Path:
    """Compilations for `native` are for `machine` from here on; where the cache keeps it."""
    own = default_cache()
    own.put(_key(), machine_text(machine).encode())
    return own.folder


def this_machine() -> Machine | None:
    """This computer, as it was measured, or else the machine whose file names its CPU; None: neither.

    That of a file has the cores and caches that there are (`here.py`). Where `INARCH_NATIVE` limits the
    computer its CPU is not looked at: all that are limited choose alike.
    """
    return measured_machine() or (None if os.environ.get(NATIVE) else _known_machine())


def cpu_name() -> str:
    """What the system calls the CPU of this computer."""
    return cpuinfo().get("model name") or platform.processor() or platform.machine()


def _known_machine() -> Machine | None:
    """Of the machines that have a file; a broken one is told of where its name is used."""
    facts = cpuinfo()
    family, model = (
        (f"{facts['vendor_id']} {facts['cpu family']}", facts["model"])
        if {"vendor_id", "cpu family", "model"} <= facts.keys()
        else (facts.get("CPU implementer", ""), facts.get("CPU part", ""))
    )
    try:
        number = int(model, 0)
    except ValueError:
        return None
    for name in MACHINES:
        try:
            machine = MACHINES[name]
        except InarchError:
            continue
        if machine.is_of(family, number):
            return as_here(machine)
    return None


@cache
def cpuinfo() -> dict[str, str]:
    """What the system says of the first processor; nothing where there is no such file."""
    try:
        text = CPUINFO.read_text(errors="replace")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def _key() -> str:
    """Of this kind of CPU: computers may share a folder. What was measured by other rules is not read."""
    return key_of("machine", cpu_name(), *(each.name for each in fields(Machine)))
