"""Decisions that somebody has measured: `tensorize` takes them in the place of its own (`inarch tune`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inarch.core.cache import key_of
from inarch.machine.target import Target


@dataclass(frozen=True)
class TunedWay:
    """A way to do a nest, as text has it, and whose code was measured."""

    way: Mapping[str, Any]
    """What `inarch.passes.tensorize.keep.record.way_of` makes of a candidate."""
    identity: str
    """Of the kernel's code (`inarch.microkernel.identity`)."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.way["kernel"]


@dataclass(frozen=True)
class Tuned:
    """A fact: the ways of nests, by address, and what came of it."""

    ways: Mapping[str, TunedWay]
    source: str = ""
    """Where they come from, for people."""
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """Address -> why the way of a nest of this program was not taken."""


def address_of(key: object, target: Target) -> str:
    """The name of a nest for a target, the same on every machine; `key` is its `key_of_nest`."""
    return key_of("nest", repr(key), str(target))[:32]
