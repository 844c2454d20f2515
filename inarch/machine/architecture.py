"""What a family of CPUs is: one file `inarch/machine/targets/<name>.py` that defines `TARGET`.

Other distributions add theirs in the group `inarch.machine.targets`, and `--load FILE.py` for one run. A CPU
of a family that is known is the family with another level:

    from dataclasses import replace
    from inarch.machine.targets.x86_64 import TARGET as X86_64

    V3 = X86_64.levels["x86-64-v3"]
    TARGET = replace(
        X86_64, levels={"my-cpu": V3 | {"avxvnni"}}, machines=(), march={"my-cpu": "alderlake"}
    )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.core.plugins import API_VERSION, Extensions

Features = frozenset[str]


@dataclass(frozen=True)
class Architecture:
    """A family of CPUs that one compiler makes code for, and its levels."""

    family: str
    """What its machine code is: `x86-64`, `aarch64`, `riscv64`; code of one family runs on no other."""
    levels: Mapping[str, Features]
    """Level -> its features; of two that this machine has, the later one is the higher."""
    vector_bytes: Callable[[Features], int]
    """Bytes of the widest vector that is worth using."""
    vector_registers: Callable[[Features], int]
    """How many vector registers there are."""
    flags: Callable[[str, tuple[str, ...], Features], list[str]]
    """`(what march says of the level, extra features, all features)` -> flags of GCC and Clang."""
    machines: tuple[str, ...] = ()
    """What `platform.machine` calls it; none: never taken for `native`."""
    march: Mapping[str, str] = field(default_factory=dict[str, str])
    """Level -> what the compiler calls it, where that is another name."""
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """What a compiler switches on together with a feature."""
    features: Features = frozenset()
    """Features that a target may name, besides those of levels and `implied`; by GCC's names without `-m`."""
    extras: tuple[str, ...] = ()
    """Features above a level that kernels are written for; `native` reports them."""
    cpuinfo: str = ""
    """The line of /proc/cpuinfo that lists the features of a CPU."""
    linux_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Linux's name of a feature -> GCC's, where they differ."""
    machine: str = "generic"
    """Whom code is made for where nothing else is said: a file of `inarch/machine/machines/`."""
    always: Features = frozenset()
    """What every CPU of the family has, whatever Linux says."""
    cross: tuple[str, ...] = ()
    """Compilers that make its code on machines of others, the first that is installed."""
    api: int = API_VERSION

    @property
    def known_features(self) -> Features:
        """Every feature that a target of this family may name."""
        return self.features.union(self.implied, *self.levels.values())

    def closure(self, features: Features) -> Features:
        """`features` and everything they imply."""
        found: set[str] = set()
        pending = list(features)
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending.extend(self.implied.get(name, ()))
        return frozenset(found)


def _sound(thing: object, name: str) -> None:
    if not isinstance(thing, Architecture):
        raise InarchError(
            f"expected an Architecture, found {type(thing).__name__}", where=f"target '{name}'"
        )


TARGETS: Extensions[Architecture] = Extensions("inarch.machine.targets", "TARGET", check=_sound)
"""The families of CPUs, by the names of their files."""


def architectures() -> dict[str, Architecture]:
    """Level -> its family, of all that there are. Raises UsageError for a level that two have."""
    found: dict[str, Architecture] = {}
    homes: dict[str, str] = {}
    for name in TARGETS:
        one = TARGETS[name]
        for level in one.levels:
            if homes.setdefault(level, name) != name:
                raise UsageError(
                    f"target '{level}' is defined twice: by {TARGETS.origin(homes[level]).source} and by "
                    f"{TARGETS.origin(name).source}; remove or rename one"
                )
            found[level] = one
    return found


def architecture_of(level: str) -> Architecture:
    """The family that has `level`. Raises UsageError with the names of all levels."""
    every = architectures()
    if level not in every:
        known = unknown("target", level, [*every, "native"])
        raise UsageError(f"{known.message}; one of your own is a file: docs/extending.md, Target")
    return every[level]


def all_features() -> Features:
    """Every feature that a target, or the `needs` of a microkernel, may name."""
    return frozenset[str]().union(*(one.known_features for one in architectures().values()))
