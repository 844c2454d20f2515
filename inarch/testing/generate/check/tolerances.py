"""What outputs of programs with backends may differ by: rounding, or what a backend declares."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.definitions.compare import Expected, difference_of
from inarch.definitions.functions import Array
from inarch.driver.offload import Offload
from inarch.offload.tolerance import Tolerances, tolerance_of


def tolerances_of(backends: Sequence[str]) -> list[Tolerances]:
    """Those that the instances declare; without any, rounding is all."""
    asked = Offload(backends).asked().values()
    return [tolerance_of(one.backend.tolerance, one.name) for one in asked if one.backend.tolerance]


def told_apart(expected: Expected, found: Array, tolerances: Sequence[Tolerances]) -> str | None:
    """What is wrong with an output: beyond rounding, and beyond each of `tolerances`; None: nothing."""
    said = difference_of(expected, found)
    if said is None or expected.value.shape != found.shape:
        return said
    for one in (each.of(expected.value.dtype) for each in tolerances):
        measured = one.measure(expected.value, found)
        if one.allows(measured):
            return None
        said = f": {one.shown(measured)} (allowed: {one}){said}"
    return said
