"""`model.c`, where a program has host versions of what backends do: what runs them where a slot fails."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.artifact.manifest import Import
from inarch.backends.c.text import string
from inarch.backends.c.write.abi.library_text import abi_text


def fallback_text(prefix: str, imports: Sequence[Import]) -> str:
    """What runs host versions; nothing where no slot has one."""
    if not any(slot.fallback for slot in imports):
        return ""
    return abi_text("model.c", "FALLBACK", prefix=prefix, name=string(prefix))
