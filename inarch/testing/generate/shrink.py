"""A failing program made small: its record of decisions, shortened and lowered while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from inarch.core.errors import InarchError
from inarch.testing.generate.choices import Record
from inarch.testing.generate.program import GeneratedProgram
from inarch.testing.generate.public import remake

Fails = Callable[[GeneratedProgram], bool]


def shrink(
    program: GeneratedProgram, fails: Fails, *, seconds: float = 60.0, **options: Any
) -> GeneratedProgram:
    """A smaller program for which `fails` still holds, found within `seconds`.

    Leaves out steps, then decisions, then lowers those that are left; what makes no program is passed
    over. `options` are those that made the program (`large`, `full`, `favour`).
    """
    search = _Search(program, fails, time.monotonic() + seconds, options)
    while search.round() and not search.is_over():
        pass
    return search.best


@dataclass
class _Search:
    best: GeneratedProgram
    fails: Fails
    deadline: float
    options: dict[str, Any]

    def is_over(self) -> bool:
        return time.monotonic() >= self.deadline

    def round(self) -> bool:
        """One pass of each kind; whether any made the program smaller."""
        changed = False
        for candidates in (_without_steps, _shorter, _lower):
            at = 0
            while not self.is_over():
                tried = list(candidates(self.best.record, at))
                if not tried:
                    break
                if any(self.better(record) for record in tried):
                    changed = True
                else:
                    at += 1
        return changed

    def better(self, record: Record) -> bool:
        """Takes the program of `record` where it is smaller and still fails."""
        if self.is_over():
            return False
        try:
            made = remake(self.best, record, **self.options)
        except (InarchError, ArithmeticError, ValueError, LookupError):
            return False
        if _size(made.record) >= _size(self.best.record) or not self.fails(made):
            return False
        self.best = made
        return True


def _size(record: Record) -> tuple[int, int, Record]:
    """Steps, then decisions, then how high they are."""
    return len(record), sum(len(numbers) for _, numbers in record), record


def _without_steps(record: Record, at: int) -> Iterator[Record]:
    """Without a few steps from number `at` on, counted from the last one."""
    steps = [place for place, (label, _) in enumerate(record) if label == "step"][::-1]
    for length in (8, 3, 1):
        gone = steps[at : at + length]
        if gone:
            yield tuple(one for place, one in enumerate(record) if place not in gone)


def _places(record: Record) -> list[tuple[int, int]]:
    return [(s, n) for s, (_, numbers) in enumerate(record) for n in range(len(numbers))]


def _with(record: Record, segment: int, numbers: tuple[int, ...]) -> Record:
    label = record[segment][0]
    return (*record[:segment], (label, numbers), *record[segment + 1 :])


def _shorter(record: Record, at: int) -> Iterator[Record]:
    """A segment that ends before decision `at`, or lacks a few there."""
    places = _places(record)
    if at >= len(places):
        return
    segment, place = places[at]
    numbers = record[segment][1]
    yield _with(record, segment, numbers[:place])
    for length in (3, 1):
        yield _with(record, segment, numbers[:place] + numbers[place + length :])


def _lower(record: Record, at: int) -> Iterator[Record]:
    """A lower decision `at`."""
    places = _places(record)
    if at >= len(places):
        return
    segment, place = places[at]
    numbers = record[segment][1]
    for value in sorted({0, numbers[place] // 2, numbers[place] - 1}):
        if 0 <= value < numbers[place]:
            yield _with(record, segment, (*numbers[:place], value, *numbers[place + 1 :]))
