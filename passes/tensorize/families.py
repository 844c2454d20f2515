"""The kernels that a program may be tensorized with, as families of a target on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.microkernel.demanded import Demanded
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.weigh.family import Family


def families_of(
    names: Sequence[str], demanded: Sequence[Demanded], target: Target, machine: Machine
) -> tuple[list[Family], dict[str, str]]:
    """The families, and for kernels that are no such thing the reason: others go on without them.

    Raises InarchError for one that is demanded.
    """
    found: list[Family] = []
    unusable: dict[str, str] = {}
    asked = {one.name: one for one in demanded}
    for name in names:
        try:
            family = _family(name, target, machine, is_optional=name not in asked)
        except InarchError as error:
            if name in asked:
                raise
            unusable[name] = str(error)
        else:
            found.append(_only(family, asked[name]) if name in asked else family)
    return found, unusable


def _only(family: Family, asked: Demanded) -> Family:
    """The family with the members that are asked for. Raises UsageError where there are none."""
    if not asked.params or not family.members:
        return family
    kernel = family.pattern.kernel
    for name, value in asked.params.items():
        if name not in kernel.params:
            raise unknown("parameter", name, kernel.params, within=str(asked))
        if not any(member[name] == value for member in family.members):
            known = ", ".join(map(str, sorted({member[name] for member in family.members})))
            raise UsageError(
                f"'{asked}': expected {name} of {known} on target '{family.target}', found {value}"
            )
    members = [member for member in family.members if asked.has(member)]
    if not members:
        raise UsageError(f"'{asked}': the kernel has no such member on target '{family.target}'")
    return family.having(members, str(asked))


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
