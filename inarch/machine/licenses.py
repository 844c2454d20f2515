"""The licence of a library in a file: as a file beside it says, or the Python package that brought it."""

from __future__ import annotations

import re
from importlib.metadata import PathDistribution
from pathlib import Path

UNKNOWN = "NOASSERTION"
"""SPDX's word for what nobody has said."""

_MOST = 1 << 16
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([^\n]{1,200})")


def license_of(path: Path) -> str:
    """An SPDX expression: of `FILE.license` (REUSE, https://reuse.software/spec-3.3), else of the package.

    A package states it as PEP 639 has it, or by classifiers, which are no expressions and become
    `LicenseRef-...`. NOASSERTION where neither says anything.
    """
    try:
        with path.with_name(f"{path.name}.license").open(errors="replace") as file:
            beside = file.read(_MOST)
    except OSError:
        beside = ""
    if found := _SPDX.search(beside):
        return found[1].strip()
    return _of_package(path.resolve()) or UNKNOWN


def _of_package(path: Path) -> str:
    for folder in path.parents:
        name = path.relative_to(folder).as_posix()
        for record in folder.glob("*.dist-info/RECORD"):
            if f"\n{name}," not in f"\n{record.read_text(errors='replace')}":
                continue
            said = PathDistribution(record.parent).metadata
            if expression := (said.get_all("License-Expression") or [""])[0]:
                return expression
            kinds = [each.split(" :: ") for each in said.get_all("Classifier") or []]
            named = [each[-1] for each in kinds if each[0] == "License" and len(each) > 2]
            return " AND ".join(f"LicenseRef-{re.sub(r'[^0-9A-Za-z.]+', '-', n)}" for n in named)
    return ""
