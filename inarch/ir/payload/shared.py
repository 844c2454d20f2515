"""Weights that programs share: a pool, outside of their artifacts, gives each constant its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inarch.core.shared import Shared


@dataclass(frozen=True)
class Places:
    """Where the constants of one program are in the pool."""

    offsets: tuple[int, ...]
    """In bytes, multiples of 64, in the order in which the constants were given."""
    said: Shared
    """What the program's library and manifest say of them."""
    view: memoryview
    """The pool's bytes, as many as the program knows."""


@dataclass
class SharedWeights:
    """A fact (`inarch.ir.report.facts`): there is a pool for the constants of the program."""

    place: Callable[[Iterable[memoryview], int], Places | None]
    """Takes the bytes of each constant, and how many they are in all; keeps those that it has not.

    None where it cannot.
    """
    places: Places | None = None
    """Of the program as `plan-memory` has planned it; None before, and where it has weights of its own."""
