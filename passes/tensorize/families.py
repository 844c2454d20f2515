"""The kernels that a program may be tensorized with, as families of a target on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inarch.core.errors import InarchError, unknown
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.weigh.family import Family


def families_of(
    names: Sequence[str], demanded: Sequence[str], target: Target, machine: Machine
) -> tuple[list[Family], dict[str, str]]:
    """The families, and for kernels that are no such thing the reason: others go on without them.

    Raises InarchError for one that is demanded.
    """
    found: list[Family] = []
    unusable: dict[str, str] = {}
    for name in names:
        try:
            found.append(_family(name, target, machine, is_optional=name not in demanded))
        except InarchError as error:
            if name in demanded:
                raise
            unusable[name] = str(error)
    return found, unusable


def _family(name: str, target: Target, machine: Machine, *, is_optional: bool) -> Family:
    if name not in MICROKERNELS:
        raise unknown("microkernel", name, MICROKERNELS)
    source = MICROKERNELS.origin(name).source
    try:
        return Family.of(name, MICROKERNELS[name], target, machine, is_optional=is_optional)
    except InarchError as error:
        if Path(source).name in str(error):
            raise
        raise InarchError(str(error), where=source) from error
