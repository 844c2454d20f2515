"""Host versions of what backends do: of parts that do not open, and calls that fail, one warning tells."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from inarch.artifact import Artifact
from inarch.artifact.manifest import SUBMODULE, Manifest
from inarch.core.errors import InarchError, InarchWarning
from inarch.runtime.abi import ffi
from inarch.runtime.module import Module
from inarch.runtime.native import NativeFunction

_TOLD = "void(void *, int32_t, const char *)"
_ON_FALLBACK = "void(*)(void(*)(void *, int32_t, const char *), void *)"


def can_do_without(manifest: Manifest, number: int) -> bool:
    """Whether the host has a version of all that part `number` does."""
    versions = {slot.name for slot in manifest.imports if slot.fallback}
    own = [part for part in manifest.backends if part.part == f"{SUBMODULE}{number}"]
    return bool(own) and all(name in versions for part in own for name in part.functions)


def opened_parts(artifact: Artifact, opened: Callable[[int], Module]) -> list[Module]:
    """The modules of the parts, without those that do not open and need not: a warning tells of each."""
    modules: list[Module] = []
    for number in range(1, len(artifact.manifest.loaders)):
        if not can_do_without(artifact.manifest, number):
            modules.append(opened(number))
            continue
        try:
            modules.append(opened(number))
        except Exception as error:  # noqa: BLE001 - a loader may be anybody's
            name = artifact.manifest.loaders[number]
            said = (
                str(error) if isinstance(error, InarchError) else f"{type(error).__name__}: {error}"
            )
            _warn(
                artifact, f"backend '{_owner(artifact, number)}' (format {name}) is missing: {said}"
            )
    return modules


def absent(name: str) -> NativeFunction:
    """What fills the slot `name` whose part is not there: the library puts its own function there."""
    return NativeFunction(name, 0)


class Telling:
    """Warns where a call of a library's slot fails and the host takes it over: once for each backend."""

    def __init__(self, artifact: Artifact, symbol: Callable[[str, str], Any]) -> None:
        """Tells the library; it must outlive its calls."""
        self._where = artifact
        self._told: set[str] = set()
        self._hook = ffi().callback(_TOLD, self._tell)
        symbol("on_fallback", _ON_FALLBACK)(self._hook, ffi().NULL)

    def _tell(self, _own: Any, slot: int, why: Any) -> None:
        from inarch.runtime.loaders.imports import failure_here

        name = self._where.manifest.imports[slot].name
        owner = next(
            (one.name for one in self._where.manifest.backends if name in one.functions), name
        )
        said = failure_here() or ffi().string(why).decode(errors="replace")
        if owner not in self._told:
            self._told.add(owner)
            _warn(self._where, f"backend '{owner}' fails on '{name}': {said}")


def _owner(artifact: Artifact, number: int) -> str:
    part = f"{SUBMODULE}{number}"
    return next(one.name for one in artifact.manifest.backends if one.part == part)


def _warn(artifact: Artifact, what: str) -> None:
    message = InarchWarning(f"{what}; the host runs its part", where=artifact.where)
    try:
        warnings.warn(message, stacklevel=3)
    except Warning:  # an error, which cannot pass through C
        sys.stderr.write(f"warning: {message}\n")


def versions(manifest: Manifest) -> Sequence[str]:
    """The functions that are host versions: nobody else calls them."""
    return [slot.fallback for slot in manifest.imports if slot.fallback]
