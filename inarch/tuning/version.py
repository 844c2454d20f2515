"""Which Inarch this is: nests, and the ways to do them, are those of one version."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import inarch
from inarch.core.cache import key_of

_SUFFIXES = {".py", ".c", ".h", ".toml"}


@cache
def version() -> str:
    """The release, and what all files of Inarch hold: the same on every computer that has them."""
    package = Path(inarch.__file__).parent
    found: list[tuple[str, bytes]] = []
    for folder in (
        "passes",
        "dialects",
        "backends",
        "frontends",
        "microkernel",
        "meaning",
        "machine",
    ):
        paths = [each for each in sorted((package / folder).rglob("*")) if each.suffix in _SUFFIXES]
        found += [(str(path.relative_to(package)), path.read_bytes()) for path in paths]
    return f"{inarch.__version__}-{key_of(*(part for pair in found for part in pair))[:12]}"
