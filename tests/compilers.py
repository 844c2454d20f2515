"""Compilers that a test asks for by family: `gcc`, `g++`, `clang`, `clang++`.

A test of any C compiler takes `find_compiler()`, which is the product's. One of warnings, say, has a case a
family; a family under a name with a version (`clang-19`) is that family. The gate tries the family of the
product's choice alone, so that what else is installed changes no case; the search tries each.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from effort import SOAK
from inarch.core.errors import EnvironmentFault
from inarch.machine.compilers import find_compiler

_OF_KIND = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}


def found(family: str) -> str | None:
    """The command of the family; None: it is not tried."""
    try:
        of_gate = _OF_KIND.get(find_compiler().kind, ())
    except EnvironmentFault:
        return None
    return installed(family) if SOAK or family in of_gate else None


@cache
def installed(family: str) -> str | None:
    """The command of the family, tried or not: its own name, or that with the highest version."""
    if shutil.which(family) is not None:
        return family
    versions = [
        int(match[1])
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        for path in Path(folder or ".").glob(f"{family}-*")
        if (match := re.fullmatch(r".*-(\d+)", path.name)) and os.access(path, os.X_OK)
    ]
    return f"{family}-{max(versions)}" if versions else None


def command_of(family: str) -> str:
    """The command of the family; skips where it is not installed, or not of the gate."""
    command = found(family)
    if command is None:
        package = {"g++": "g++", "gcc": "gcc"}.get(family, "clang")
        pytest.skip(
            f"{family}: make soak tries it where it is installed (apt-get install {package})"
        )
    return command


def c_compilers() -> list[str]:
    """The commands of the C compilers that are tried."""
    return [command for family in ("gcc", "clang") if (command := found(family))]
