"""Compilers that a test asks for by family: `gcc`, `g++`, `clang`, `clang++`.

A test of any C compiler takes `find_compiler()`, which is the product's. One of warnings, say, has a case a
family; a family under a name with a version (`clang-19`) is that family.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from pathlib import Path

import pytest


@cache
def found(family: str) -> str | None:
    """The command of the family: its own name, or that with the highest version."""
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
    """The command of the family; skips where it is not installed."""
    command = found(family)
    if command is None:
        package = {"g++": "g++", "gcc": "gcc"}.get(family, "clang")
        pytest.skip(f"no {family} here: apt-get install {package}")
    return command
