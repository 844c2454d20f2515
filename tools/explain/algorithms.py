"""Which algorithm an op gets that has several, and why it is no other: `inarch explain`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from inarch.passes.lower.algorithm import DIRECT
from inarch.passes.lower.weighed import Algorithms, Weighed
from inarch.tools.explain.kernels import cycles_text

_SHOWN = 3
"""Places of ops that are alike."""


def facts(report: Algorithms) -> list[dict[str, Any]]:
    """As JSON; the first algorithm of each op is the chosen one."""
    return [
        {"where": where, "taken": weighed[0].name, "algorithms": list(map(_fact, weighed))}
        for where, weighed in report.found
    ]


def _fact(one: Weighed) -> dict[str, Any]:
    """Null for what has no price."""
    unknown = {} if one.cycles else dict.fromkeys(("cycles", "workspace", "constants"))
    return vars(one) | unknown


def lines_at(report: Algorithms, place: str) -> tuple[str, ...]:
    """What the box of an op says: which it gets, then all of them."""
    found = [weighed for where, weighed in report.found if where == place]
    lines = [line for weighed in found for line in _entry(weighed, [place])]
    return tuple(dict.fromkeys(line.strip() for line in lines))


def table(report: Algorithms, places: Sequence[str] = (), *, every: bool = False) -> list[str]:
    """Lines for the ops at `places`, or for ops with an algorithm that applies; for all ops with `every`.

    Ops with equal lines have one entry.
    """
    groups: dict[tuple[Weighed, ...], list[str]] = {}
    for where, weighed in report.found:
        is_asked = where in places if places else every or any(map(_matters, weighed))
        if is_asked:
            groups.setdefault(tuple(weighed), []).append(where)
    if not groups:
        return []
    return ["algorithms:", *(line for item in groups.items() for line in _entry(*item))]


def _matters(one: Weighed) -> bool:
    return one.name != DIRECT and bool(one.cycles or one.bound)


def _entry(weighed: Sequence[Weighed], places: Sequence[str]) -> Iterator[str]:
    more = len(places) - _SHOWN
    named = ", ".join(places[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    direct = next((one.cycles for one in weighed if one.name == DIRECT), 0.0)
    yield f"  {named}: {weighed[0].name}"
    for one in weighed:
        if not one.refused and not one.cycles:
            continue
        said = [one.refused] if one.refused else []
        if one.cycles:
            part = f" ({one.cycles / direct:.2f} of direct)" if one.name != DIRECT else ""
            said += [f"{cycles_text(one.cycles)} cycles{part}"]
            said += [f"{_scratch(one.workspace)} of scratch"]
        said += [one.bound] if one.bound else []
        wish = shlex.quote(f"{places[0]}={one.name}")
        is_open = one is not weighed[0] and (not one.refused or one.bound)
        yield f"    {one.name}: {', '.join(said)}{f'; --algorithm {wish}' if is_open else ''}"


def _scratch(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 / 10 else f"{size / 2**10:.1f} KiB"
