"""What a generator decides with: numbers from a seed, from a record, or from hypothesis.

Every decision is one whole number, and the smallest one is the simplest choice. Decisions stand in
segments, one for each step of a program. So a program is its record of decisions, a record without one
of its segments is a program without that step, and a smaller record is a simpler program (`shrink.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

SIZES = (2, 3, 4, 1, 5, 7, 8, 16, 17, 33, 64, 70, 12, 20, 24, 25, 40, 48, 81)
"""Of dimensions: below, at and above every vector, ragged, and 1 to 5 vectors of 4, 8 and 16 lanes."""

Segment = tuple[str, tuple[int, ...]]
Record = tuple[Segment, ...]
"""What each segment is (`head`, `step`, `close`), and its decisions, each counted from its lowest."""


class Choices(ABC):
    """Decisions; `record` has those made so far."""

    def __init__(self) -> None:
        self._segments: list[tuple[str, list[int]]] = []

    @property
    def record(self) -> Record:
        """The decisions made so far."""
        return tuple((label, tuple(numbers)) for label, numbers in self._segments)

    @property
    def count(self) -> int:
        """How many decisions have been made."""
        return sum(len(numbers) for _, numbers in self._segments)

    @abstractmethod
    def below(self, count: int) -> int:
        """A number from 0 to `count - 1`; 0 is the simplest."""

    @abstractmethod
    def more(self, percent: int) -> bool:
        """Whether another step follows: in `percent` of 100 cases."""

    def enter(self, label: str) -> None:
        """Begins a segment; none is within another."""
        self._segments.append((label, []))

    def integer(self, low: int, high: int) -> int:
        """A number from `low`, the simplest, to `high`."""
        chosen = min(self.below(high - low + 1), high - low) if high > low else 0
        self._segments[-1][1].append(chosen)
        return low + chosen

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 cases; False is the simpler one."""
        return self.integer(0, 99) >= 100 - percent

    def pick(self, items: Sequence[T]) -> T:
        """One of `items`; the first is the simplest."""
        return items[self.integer(0, len(items) - 1)]

    def weighted(self, items: Sequence[tuple[int, T]]) -> T:
        """One of `items`, each as often as its weight says; the first is the simplest."""
        left = self.integer(0, sum(weight for weight, _ in items) - 1)
        for weight, item in items:
            if left < weight:
                return item
            left -= weight
        raise AssertionError("the weights add up to less than their sum")

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in some order; as they are is the simplest."""
        rest, result = list(items), list[T]()
        while rest:
            result.append(rest.pop(self.integer(0, len(rest) - 1)))
        return result


class Seeded(Choices):
    """Decisions by a seed."""

    def __init__(self, seed: int | str) -> None:
        super().__init__()
        self._random = Random(seed)

    def below(self, count: int) -> int:
        return self._random.randrange(count)

    def more(self, percent: int) -> bool:
        return self._random.randrange(100) < percent


class Recorded(Choices):
    """Decisions by a record; the simplest ones where a segment ends, and where one is out of range."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self._given = record
        self._next = 0
        self._numbers: Sequence[int] = ()

    def enter(self, label: str) -> None:
        super().enter(label)
        self._numbers = ()
        if self._next < len(self._given) and self._given[self._next][0] == label:
            self._numbers = self._given[self._next][1]
            self._next += 1

    def below(self, count: int) -> int:
        position = len(self._segments[-1][1])
        return min(self._numbers[position], count - 1) if position < len(self._numbers) else 0

    def more(self, percent: int) -> bool:
        return self._next < len(self._given) and self._given[self._next][0] == "step"
