"""Decisions as text, to be kept from one compilation to the next: what takes long is the search.

A record says which kernel, which member, and what the iterators take; the tiles and operands are worked
out of that again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from inarch.core.outside.value import Value
from inarch.passes.tensorize.keep.memo import Decision
from inarch.passes.tensorize.report import Choice
from inarch.passes.tensorize.unify.iterators import Assignment
from inarch.passes.tensorize.unify.match import Miss, bindings, matches
from inarch.passes.tensorize.unify.strided import StridedNest
from inarch.passes.tensorize.weigh.candidates import (
    Candidate,
    cutter_of,
    is_split,
    planned_again,
    start_of,
)
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.operands import Matched


class Store(Protocol):
    """Where records are kept, by all that they depend on but the code of Inarch and of the kernels."""

    def get(self, key: str) -> str | None:
        """What was put under `key`."""
        ...

    def put(self, key: str, record: str) -> None:
        """Keeps a record."""
        ...


@dataclass(frozen=True)
class _Rest:
    """What a record says beside the way that was taken."""

    choices: tuple[Choice, ...]
    misses: Mapping[str, Miss]


def text_of(decision: Decision) -> str:
    """The record of a decision."""
    choices = [asdict(one) for one in decision.choices]
    misses = {name: asdict(miss) for name, miss in decision.misses.items()}
    taken = way_of(decision.taken) if decision.taken is not None else None
    return json.dumps({"taken": taken, "choices": choices, "misses": misses})


def decision_of(
    record: str, nest: StridedNest, family: Callable[[str], Family | None]
) -> Decision | None:
    """The decision of a record, for a nest like the one that it was made for; `family` finds by name."""
    said = json.loads(record)
    taken = None
    if said["taken"] is not None:
        taken = candidate_of(said["taken"], nest, family(said["taken"]["kernel"]))
        if taken is None:
            return None
    rest = Value(said).read(_Rest)
    return Decision(taken, rest.choices, rest.misses)


def way_of(taken: Candidate) -> dict[str, Any]:
    """A candidate as JSON has it."""
    matched = taken.matched
    bound = bindings(matched.nest, matched.pattern)
    assert not isinstance(bound, Miss), "one of them was taken"
    return {
        "kernel": matched.pattern.name,
        "params": dict(taken.params),
        "binding": bound.index(matched.binding),
        "assignment": matched.assignment.taken,
        "order": taken.order,
        "cost": taken.cost,
        "around": taken.around,
    }


def candidate_of(
    way: Mapping[str, Any], nest: StridedNest, family: Family | None
) -> Candidate | None:
    """The candidate of a way, for a nest like the one that it was made for; None where it is none."""
    bound = bindings(nest, family.pattern) if family is not None else None
    if family is None or bound is None or isinstance(bound, Miss):
        return None
    taken: list[list[str]] = way["assignment"]
    number: int = way["binding"]
    if not 0 <= number < len(bound) or len(taken) != len(nest.axes):
        return None
    assignment = Assignment(tuple([tuple(names) for names in taken]))
    matched = Matched(family.pattern, nest, bound[number], assignment)
    pieces = cutter_of(matched, family).cut(way["params"])
    if isinstance(pieces, str):
        return None
    return planned_again(matched, family, way["params"], pieces, tuple(way["order"]), way["cost"])


def checked_candidate_of(
    way: Mapping[str, Any], nest: StridedNest, family: Family | None
) -> Candidate | None:
    """As `candidate_of`, of a way that somebody else wrote, whose fields `inarch.driver.keep.records` saw.

    None, too, for one that the search would never find: what it says of iterators could be untrue.
    """
    bound = bindings(nest, family.pattern) if family is not None else None
    if family is None or bound is None or isinstance(bound, Miss):
        return None
    number: int = way["binding"]
    order: list[int] = way["order"]
    if not 0 <= number < len(bound) or sorted(order) != [*range(len(nest.axes))]:
        return None
    if not way["params"].keys() >= {*family.pattern.kernel.params} or not family.is_member(
        way["params"]
    ):
        return None
    some = matches(nest, family.pattern, bound[number])
    names: list[list[str]] = way["assignment"]
    taken = tuple([tuple(each) for each in names])
    if isinstance(some, Miss) or all(one.assignment.taken != taken for one in some):
        return None
    matched = next(one for one in some if one.assignment.taken == taken)
    pieces = cutter_of(matched, family).cut(way["params"])
    if isinstance(pieces, str) or isinstance(start_of(matched, split=is_split(nest, pieces)), str):
        return None
    return candidate_of(way, nest, family)
