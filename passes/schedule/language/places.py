"""How a schedule names what it changes: a nest or a loop by its location, or by its number in a function.

"conv1"        what comes from the node `conv1`, or from `loc("conv1")` of text
"softmax"[2]   the second of what comes from there
@main[3]       the third nest or loop of a function
"m.mlir:4"     what stands in line 4 of a file
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import functions
from inarch.ir.location import location_text, parts_of
from inarch.passes.schedule.language.words import Words

Loops: TypeAlias = NestOp | ForOp
"""What is scheduled: a nest, or a loop that has no nest in it."""

_SHOWN = 6


@dataclass(frozen=True)
class Place:
    """What an `at` says."""

    name: str = ""
    """A location."""
    function: str = ""
    number: int | None = None
    """From 1 on, of all that are there."""

    def __str__(self) -> str:
        text = f"@{self.function}" if self.function else f'"{self.name}"'
        return text if self.number is None else f"{text}[{self.number}]"


def read_place(words: Words) -> Place:
    """Reads `"NAME"`, `"NAME"[N]` or `@FUNCTION[N]`."""
    if words.is_text():
        name = words.text("a place")
        return Place(name=name, number=_number(words, needed=False))
    start = words.name('a place, "LOCATION" or @FUNCTION[NUMBER]')
    if not start.startswith("@") or len(start) == 1:
        raise words.error(f"expected a place, \"LOCATION\" or @FUNCTION[NUMBER], found '{start}'")
    return Place(function=start[1:], number=_number(words, needed=True))


def _number(words: Words, *, needed: bool) -> int | None:
    if not words.has("["):
        if needed:
            raise words.error("expected '[' and a number behind a function")
        return None
    number = words.number("a number from 1 on")
    if number < 1:
        raise words.error(f"expected a number from 1 on, found {number}")
    words.sign("]")
    return number


def place_of_text(text: str) -> Place:
    """What an option of a pass says: a place as in a schedule, whose quotes may be left out."""
    name, bracket, rest = text.rpartition("[")
    number = int(rest[:-1]) if bracket and rest[:-1].isdigit() and rest.endswith("]") else None
    name = text if number is None else name
    if not name or number == 0:
        raise UsageError(
            f"expected LOCATION, LOCATION[NUMBER] or @FUNCTION[NUMBER], found '{text}'"
        )
    if name.startswith("@"):
        if number is None:
            raise UsageError(f"expected a number behind a function, '{name}[1]', found '{text}'")
        return Place(function=name[1:], number=number)
    return Place(name=name.strip('"'), number=number)


def scheduled_ops(module: ModuleOp) -> dict[FuncOp, list[Loops]]:
    """What can be scheduled in each function, in program order."""
    return {function: list(_loops(function)) for function in functions(module)}


def _loops(op: Operation) -> Iterator[Loops]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if isinstance(inner, NestOp) or (isinstance(inner, ForOp) and not _has_nest(inner)):
                    yield inner
                else:
                    yield from _loops(inner)


def _has_nest(op: Operation) -> bool:
    return any(isinstance(inner, NestOp) for inner in op.walk())


def names_of(op: Operation) -> set[str]:
    """What it is called: its location, the parts of one of several, and of a line of a file its end."""
    return names_at(location_text(op) or "")


def names_at(whole: str) -> set[str]:
    """The same of a location."""
    found = {whole, *parts_of(whole)}
    for name in list(found):
        stem, _, column = name.rpartition(":")
        path, _, line = stem.rpartition(":")
        if path and line.isdigit() and column.isdigit():
            short = path.rpartition("/")[2]
            found |= {stem, f"{short}:{line}:{column}", f"{short}:{line}"}
    return found - {""}


def find(module: ModuleOp, place: Place) -> Loops:
    """What `place` names. Raises InarchError for none, and for several."""
    every = scheduled_ops(module)
    if place.function:
        names = {function.sym_name.data: own for function, own in every.items()}
        if place.function not in names:
            raise unknown("function", place.function, names)
        return _numbered(names[place.function], place, f"in @{place.function}")
    found = [op for own in every.values() for op in own if place.name in names_of(op)]
    if not found:
        known = {location_text(op) or "" for own in every.values() for op in own} - {""}
        raise unknown("nest or loop", place.name, known)
    if len(found) > 1 or place.number is not None:
        return _numbered(found, place, f'at "{place.name}"')
    return found[0]


def _numbered(found: list[Loops], place: Place, where: str) -> Loops:
    if place.number is not None and place.number <= len(found):
        return found[place.number - 1]
    listed = [f"[{at}] ({describe(op)})" for at, op in enumerate(found[:_SHOWN], 1)]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    if place.number is None:
        wanted = "one nest or loop"
    else:
        wanted = f"nest or loop {place.number}"
    have = f"{len(found)}: {', '.join(listed)}{more}" if found else "none"
    raise InarchError(f"expected {wanted} {where}, found {have}")


def describe(op: Loops) -> str:
    """`m = 4, k = 8 reduction`."""
    if isinstance(op, ForOp):
        numbers = op.counted()
        if numbers is None:
            return f"{loop_name(op)} = computed numbers"
        return f"{loop_name(op)} = {numbers.start} to {numbers.stop}"
    parts = [
        f"{each.label.data} = {each.size.data}{'' if each.kind.data == 'parallel' else ' ' + each.kind.data}"
        for each in op.iterators
    ]
    return ", ".join(parts)


def loop_name(loop: ForOp) -> str:
    """What its index is called."""
    return loop.induction.name_hint or "i"


def numbers_of(loop: ForOp) -> range:
    """What it counts. Raises InarchError where that is computed."""
    numbers = loop.counted()
    if numbers is None:
        raise error_of(
            loop, f"expected numbers as bounds of '{loop_name(loop)}', found computed ones"
        )
    return numbers


def loops_within(loop: ForOp) -> list[ForOp]:
    """The loop, and those in it, outermost first."""
    return [op for op in loop.walk() if isinstance(op, ForOp)]


def loops_around(op: Operation) -> list[ForOp]:
    """Those around it, outermost first."""
    found: list[ForOp] = []
    around = op.parent_op()
    while around is not None:
        if isinstance(around, ForOp):
            found.insert(0, around)
        around = around.parent_op()
    return found


def nest_of(op: Loops) -> NestOp:
    """The same, as a nest. Raises InarchError for a loop."""
    if not isinstance(op, NestOp):
        raise error_of(op, "expected a loop.nest, found a loop.for")
    return op


def iterator_of(nest: NestOp, name: str) -> int:
    """The position of an iterator. Raises UsageError for none of that name."""
    if name not in nest.names:
        raise unknown("iterator", name, nest.names)
    return nest.names.index(name)


def loop_of(op: Loops, name: str) -> ForOp | None:
    """The explicit loop called so around a nest, or in a loop; None where an iterator of the nest is meant.

    Raises UsageError where nothing is called so.
    """
    if isinstance(op, NestOp) and name in op.names:
        return None
    known = loops_around(op) if isinstance(op, NestOp) else [*loops_around(op), *loops_within(op)]
    found = [loop for loop in known if loop_name(loop) == name]
    if not found:
        own = op.names if isinstance(op, NestOp) else ()
        raise unknown("iterator", name, {*own, *(loop_name(loop) for loop in known)})
    if len(found) > 1:
        raise UsageError(f"expected one loop called '{name}', found {len(found)}")
    return found[0]


def error_of(op: Operation, message: str) -> InarchError:
    """What a transformation that is not legal says."""
    return InarchError(message, where=location_text(op))
