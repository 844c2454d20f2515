"""Machines that code is compiled for: a level of an architecture, and extra features.

A target is written `x86-64-v4+avx512vnni`: the level's name, then features as GCC names them
(without `-m`). Every decision that depends on the machine reads a `Target`. What levels there are is said by
the files of `inarch/machine/targets/`. `INARCH_NATIVE=x86-64-v3` makes this computer one that has at most
that: `native` is it, or what this CPU has of it, and what needs more is missing here.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from inarch.core.errors import UsageError, unknown
from inarch.core.once import cached_property
from inarch.machine.architecture import Architecture, Features, architecture_of, architectures
from inarch.machine.machine import Machine
from inarch.machine.machine_file import MACHINES

NATIVE = "INARCH_NATIVE"
"""The variable that limits this computer to a target, so that several computers do the same."""


@dataclass(frozen=True)
class Target:
    """A machine. Made by `parse`; equal targets have equal names.

    `str(target)` is its name, and `parse(str(target)) == target`.
    """

    name: str
    """Canonical: the level, then what it lacks of `features`, sorted and without implied ones."""
    features: frozenset[str]
    """All features, those of the level included."""

    def __str__(self) -> str:
        return self.name

    @property
    def level(self) -> str:
        """The part of the name before the first `+`."""
        return self.name.partition("+")[0]

    @property
    def extras(self) -> tuple[str, ...]:
        """The features that the name adds to the level."""
        return tuple(self.name.split("+")[1:])

    @cached_property  # asked for each nest
    def _own(self) -> Architecture:
        return architecture_of(self.level)

    @property
    def architecture(self) -> str:
        """The family whose machine code it is: `x86-64`, `aarch64`, `generic`, ..."""
        return self._own.family

    @property
    def vector_bytes(self) -> int:
        """Bytes of the widest vector that is worth using."""
        return self._own.vector_bytes(self.features)

    @property
    def vector_registers(self) -> int:
        """How many vector registers the architecture has."""
        return self._own.vector_registers(self.features)

    @property
    def march(self) -> str:
        """What the compiler calls the level."""
        return self._own.march.get(self.level, self.level)

    @cached_property
    def machine(self) -> Machine:
        """Whom code is made for where nothing else is said."""
        return MACHINES[self._own.machine]

    def cflags(self) -> list[str]:
        """The flags that make GCC and Clang compile for this target.

        >>> parse("x86-64-v4+avx512vnni").cflags()
        ['-march=x86-64-v4', '-mavx512vnni', '-mprefer-vector-width=512']
        """
        own = self._own
        return own.flags(self.march, self.extras, self.features)

    def cross_compilers(self) -> tuple[str, ...]:
        """Compilers that make code for it on other machines; none where any compiler of this one does."""
        if self.architecture in ("generic", this_processor().architecture):
            return ()
        return self._own.cross

    def missing_here(self) -> list[str]:
        """What this machine lacks to run code for the target, sorted; empty when it can."""
        machine = this_processor()
        if self.architecture not in ("generic", machine.architecture):
            return [self.architecture]
        return sorted(self.features - machine.features)


def parse(text: str) -> Target:
    """The target that `text` names: `x86-64-v3`, `x86-64-v4+avx512vnni`, `generic`, `native`, ...

    Raises UsageError for an unknown level or feature, naming the known ones.
    """
    level, *extras = text.strip().split("+")
    if level == "native":
        level, *host_extras = str(native()).split("+")
        extras = [*host_extras, *extras]
    own = architecture_of(level)
    known = own.known_features
    for name in extras:
        if name not in known:
            raise unknown("feature", name, known, within=f"target '{level}'")
    base = own.closure(own.levels[level])
    added = frozenset(name for name in extras if name not in base)
    implied = own.closure(frozenset(o for name in added for o in own.implied.get(name, ())))
    return Target("+".join((level, *sorted(added - implied))), base | own.closure(added))


def native() -> Target:
    """This machine: the highest level that its CPU has, and the extra features known here.

    What INARCH_NATIVE names where its CPU has all of that.
    """
    machine = this_processor()
    if (most := _most()) and most.architecture == machine.architecture and not most.missing_here():
        return most
    for one in architectures().values():
        levels = [n for n, features in one.levels.items() if features <= machine.features]
        if one.machines and one.family == machine.architecture and levels:
            extras = (name for name in one.extras if name in machine.features)
            return parse("+".join((levels[-1], *extras)))
    return parse("generic")


def check_features(names: Iterable[str]) -> list[str]:
    """Those of `names` that this machine's CPU lacks, sorted."""
    return sorted(set(names) - this_processor().features)


@dataclass(frozen=True)
class Processor:
    """What this machine is: architecture, and features of its CPU by GCC's names."""

    architecture: str
    features: frozenset[str]


def this_processor() -> Processor:
    """This machine, with no more than `INARCH_NATIVE` allows. Raises UsageError where that is no target."""
    own, most = cpu(), _most()
    return Processor(own.architecture, own.features & most.features) if most else own


def _most() -> Target | None:
    """What INARCH_NATIVE names. Raises UsageError where that is no target of this CPU's architecture."""
    limit = os.environ.get(NATIVE, "").strip()
    return _parse_limit(limit, cpu().architecture) if limit else None


@cache
def _parse_limit(limit: str, architecture: str) -> Target:
    try:
        most = parse(limit) if limit != "native" else None
    except UsageError as error:
        raise UsageError(f"{NATIVE}: {error.message}") from None
    if most is None or most.architecture not in ("generic", architecture):
        raise UsageError(
            f"{NATIVE}: expected a target of {architecture}, found '{limit}'; "
            "unset it, or name what this computer is to be at most"
        )
    return most


@cache
def cpu() -> Processor:
    """This machine as it is, read once: a CPU does not change under a process."""
    name = platform.machine().lower()
    for one in architectures().values():
        if name in one.machines:
            return Processor(one.family, one.always | _cpuinfo(one))
    return Processor("generic", frozenset())


def _cpuinfo(architecture: Architecture) -> Features:
    """What the first line `key : ...` of /proc/cpuinfo lists; nothing without such a file."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        name, _, values = line.partition(":")
        if name.strip() == architecture.cpuinfo:
            names = architecture.linux_names
            return frozenset(names.get(value, value) for value in values.split())
    return frozenset()
