"""Weights that programs share: a pool, outside of their artifacts, gives each constant its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
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


@dataclass(frozen=True)
class Piece:
    """A constant, for a pool."""

    nbytes: int
    make: Callable[[], memoryview]
    """Its bytes, which may have to be computed first."""
    origin: Hashable = None
    """Equal for pieces of equal bytes; None where it is not known where they are from."""


@dataclass
class SharedWeights:
    """A fact (`inarch.ir.report.facts`): there is a pool for the constants of the program."""

    place: Callable[[Iterable[Piece], int], Places | None]
    """Takes the constants, and how many bytes they are in all; keeps those that it has not.

    None where it cannot.
    """
    places: Places | None = None
    """Of the program as `plan-memory` has planned it; None before, and where it has weights of its own."""
