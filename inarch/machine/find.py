"""Which machine is meant: one of a name, that of a file, or this computer as it was measured."""

from __future__ import annotations

import platform
from dataclasses import fields
from functools import cache
from pathlib import Path

from inarch.core.cache import default_cache, key_of
from inarch.machine.machine import Machine
from inarch.machine.machine_file import (
    MACHINES,
    machine_of_text,
    machine_text,
    read_machine_file,
)

MEASURED = "measured"
"""The name of a machine that `inarch machine --measure` made."""


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


@cache
def cpu_name() -> str:
    """What the system calls the CPU of this computer."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _key() -> str:
    """Of this kind of CPU: computers may share a folder. What was measured by other rules is not read."""
    return key_of("machine", cpu_name(), *(each.name for each in fields(Machine)))
