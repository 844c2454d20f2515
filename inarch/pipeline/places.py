"""Where passes of others run in a compilation: they say it themselves, or `--place` does.

    class MyPass(ModulePass):
        name = "my-pass"
        runs = "after prepare"        # or "before PLACE", "replace PLACE"

A place is a phase, a pass, or `phase/pass`; that of a pass of somebody else, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.passes import ModulePass

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.passes import PASSES
from inarch.pipeline.pipeline import Pipeline
from inarch.pipeline.registry import find_pass

VERBS = ("before", "after", "replace")


@dataclass(frozen=True)
class Place:
    """Where a pass wants to run."""

    name: str
    """Of the pass."""
    verb: str
    anchor: str
    source: str
    """Who says so: the file of the pass, or `--place`."""

    def __str__(self) -> str:
        return f"{self.verb} {self.anchor}"


def place_of(name: str, text: str, source: str) -> Place:
    """Reads `after prepare`. Raises UsageError for anything else."""
    verb, space, anchor = text.strip().partition(" ")
    if verb not in VERBS or not space or not anchor.strip():
        raise UsageError(
            f"pass '{name}': expected runs = 'before PLACE', 'after PLACE' or 'replace PLACE', "
            f"found '{text}'",
            where=source,
        )
    return Place(name, verb, anchor.strip(), source)


def foreign_places() -> dict[str, Place]:
    """The passes that are not ours and say where they run. One that cannot be imported is a warning."""
    found: dict[str, Place] = {}
    for name, origin in PASSES.foreign():
        try:
            runs = getattr(find_pass(name), "runs", None)
        except InarchError as error:
            warnings.warn(f"{error.message}; it does not run", stacklevel=2)
            continue
        if runs is not None:
            found[name] = place_of(name, str(runs), origin.source)
    return found


def placed(pipeline: Pipeline, given: Mapping[str, str] | None = None) -> Pipeline:
    """`pipeline` with the passes of others, and those `given` a place (name -> `after prepare`).

    Raises UsageError for a place that is not there, and for two passes that want the same one.
    """
    asked = {name: place_of(name, text, "--place") for name, text in (given or {}).items()}
    waiting = {**foreign_places(), **asked}
    _check_different(list(waiting.values()))
    while waiting:
        ready = [place for place in waiting.values() if place.anchor in pipeline]
        if not ready:
            place = next(iter(waiting.values()))
            error = unknown("phase or pass", place.anchor, pipeline.anchors())
            message = f"pass '{place.name}' wants to run {place}: {error.message}"
            raise UsageError(message, where=place.source)
        for place in ready:
            pipeline = _put(pipeline, place)
            del waiting[place.name]
    return pipeline


def _put(pipeline: Pipeline, place: Place) -> Pipeline:
    try:
        one: ModulePass = find_pass(place.name)()
    except TypeError as error:
        message = f"pass '{place.name}' needs options: expected it in a pipeline of its own (-p)"
        raise UsageError(message, where=place.source) from error
    change = {"before": pipeline.before, "after": pipeline.after, "replace": pipeline.replace}
    try:
        return change[place.verb](place.anchor, one)
    except UsageError as error:
        message = f"pass '{place.name}' wants to run {place}: {error.message}"
        raise UsageError(message, where=place.source) from error


def _check_different(places: list[Place]) -> None:
    taken: dict[tuple[str, str], Place] = {}
    for place in places:
        other = taken.setdefault((place.verb, place.anchor), place)
        if other is not place:
            raise UsageError(
                f"passes '{other.name}' ({other.source}) and '{place.name}' ({place.source}) want the same "
                f"place, {place}: expected an order; write --place {place.name}='after {other.name}'"
            )
