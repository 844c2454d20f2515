"""Schedules as text: at a place, steps.

    # a comment
    at "dense_1": split n 64 -> no ni; vectorize ni
        parallelize no
    at @main[3]: interchange k n

    algorithm "layer1/*" winograd-2x2

Steps stand behind each other, parted by `;` or by the end of a line; those behind an `at` change what it
names. What ops are computed by (docs/algorithms.md) stands before the first `at`: it is chosen before loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.passes.schedule.language.modes import check_done
from inarch.passes.schedule.language.places import (
    Place,
    find,
    names_at,
    names_of,
    read_place,
)
from inarch.passes.schedule.language.step import STEPS, Action
from inarch.passes.schedule.language.words import MOST_BYTES, Word, Words, words_of

ALGORITHM = "algorithm"
"""The word of a line that is of ops."""


@dataclass(frozen=True)
class WrittenStep:
    """A step where it stands."""

    name: str
    where: str
    action: Action


@dataclass(frozen=True)
class Block:
    """What is done at a place."""

    place: Place
    where: str
    steps: tuple[WrittenStep, ...]


def parse_schedule(text: str, file: str) -> list[Block]:
    """The blocks of a schedule. Raises UsageError, at `FILE:LINE:COLUMN`, for the first thing wrong in it."""
    if len(text) > MOST_BYTES:
        raise UsageError(f"expected a schedule of at most {MOST_BYTES} characters", where=file)
    place: Place | None = None
    where = ""
    steps: list[WrittenStep] = []
    blocks: list[Block] = []
    for statement, end in _statements(words_of(text, file)):
        words = Words(statement, end)
        first = statement[0]
        if first.text == "at":
            if place is not None:
                blocks.append(Block(place, where, tuple(steps)))
            words.name("at")
            place, where, steps = read_place(words), first.where, []
            words.sign(":")
            if words.is_done:
                continue
        elif place is None and first.text == ALGORITHM:
            _selection(words)
            continue
        elif place is None:
            raise UsageError(
                f"expected 'at PLACE:' before the first step, found '{first.text}'",
                where=first.where,
            )
        steps.append(_step(words))
    if place is not None:
        blocks.append(Block(place, where, tuple(steps)))
    return blocks


@dataclass(frozen=True)
class Asked:
    """An algorithm that a schedule gives to ops."""

    selection: str
    """`OP-OR-GLOB=NAME`."""
    selector_at: str
    """`FILE:LINE:COLUMN`."""
    name_at: str
    written: str
    """In the schedule's words."""


def asked_of(text: str, file: str) -> list[Asked]:
    """The algorithms that a schedule gives to ops, in order."""
    found: list[Asked] = []
    for statement, end in _statements(words_of(text, file)):
        if statement[0].text == ALGORITHM:  # before the first `at`, or `parse_schedule` refuses it
            found.append(_selection(Words(statement, end)))
    return found


def _selection(words: Words) -> Asked:
    words.name(ALGORITHM)
    selector_at = words.where
    what = "the name of an op (conv), or a glob in quotes on where it comes from"
    is_text = words.is_text()
    selector = words.text(what) if is_text else words.name(what)
    name_at = words.where
    name = words.name("an algorithm")
    if not words.is_done:
        raise words.error(f"expected the end of the line, found '{words.next}'")
    place = f'"{selector}"' if is_text else selector
    return Asked(f"{selector}={name}", selector_at, name_at, f"{ALGORITHM} {place} {name}")


def _statements(words: Iterator[Word]) -> Iterator[tuple[list[Word], str]]:
    """What ends of lines and `;` part, without what is empty; and where each ends."""
    statement: list[Word] = []
    for word in words:
        if word.kind != "end":
            statement.append(word)
        elif statement:
            yield statement, word.where
            statement = []
    if statement:
        yield statement, statement[-1].where


def _step(words: Words) -> WrittenStep:
    where = words.where
    name = words.name(f"a step: {', '.join(sorted(STEPS))}")
    if name == ALGORITHM:
        message = "expected 'algorithm' before the first 'at': it is chosen before loops"
        raise UsageError(message, where=where)
    if name not in STEPS:
        raise UsageError(unknown("step", name, STEPS).message, where=where)
    step = STEPS[name]
    try:
        action = step.read(words)
        if not words.is_done:
            raise words.error(f"expected the end of the step, found '{words.next}'")
    except UsageError as error:
        raise UsageError(f"{error.message}; write {step.usage}", where=error.where) from error
    return WrittenStep(name, where, action)


def run_schedule(
    module: ModuleOp, blocks: Sequence[Block], made_by: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Does all steps in order. Raises InarchError, at its place in the schedule, for one that fails.

    `made_by`: by location of ops, the algorithms that made their nests, where not direct.
    """
    for block in blocks:
        try:
            op = find(module, block.place)
        except InarchError as error:
            message = f"{error.message}{_hint({block.place.name}, made_by)}"
            raise type(error)(message, where=block.where) from error
        names = names_of(op)
        for step in block.steps:
            if op.parent is None:
                message = f"expected no step behind one that replaces the nest, found {step.name}"
                raise UsageError(f"at {block.place}: {message}", where=step.where)
            try:
                op = step.action(module, op)
            except InarchError as error:
                message = f"{step.name} at {block.place}: {error.message}{_hint(names, made_by)}"
                raise type(error)(message, where=step.where) from error
        try:
            check_done(module, op)
        except InarchError as error:
            raise type(error)(f"at {block.place}: {error.message}", where=block.where) from error


def _hint(names: set[str], made_by: Mapping[str, str]) -> str:
    """That the nests of one of these places are another algorithm's."""
    for where, name in made_by.items():
        if not names.isdisjoint(names_at(where)):
            own = f'the op\'s own is there with: {ALGORITHM} "{where}" direct'
            return f"; its nests are those of algorithm '{name}', {own}"
    return ""
