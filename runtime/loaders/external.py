"""Libraries of others that an artifact calls: found by their names, and compared with what was compiled with.

One that is embedded is opened from memory. Others are looked for beside the artifact, in the folders of
INARCH_LIBRARY_PATH, then where they were when the program was compiled. Each is opened by the path that was
found, so that two of one name are not confused.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path

from inarch.artifact import Artifact
from inarch.artifact.manifest import External
from inarch.core.errors import EnvironmentFault
from inarch.core.outside.regular import is_file
from inarch.runtime.loaders.embedded import EMBEDDED

VARIABLE = "INARCH_LIBRARY_PATH"
"""Folders, with a colon between two."""
_STACK = 7
"""Frames from the warning to whoever called `inarch.load`."""

_BUILDS: dict[str, str] = {}
"""Library that some program calls, by path -> the hash of the build that is in this process."""


class Libraries:
    """Those of one artifact, each with the path at which it was found."""

    def __init__(self, artifact: Artifact) -> None:
        """Raises EnvironmentFault when one is found nowhere; warns of one that has changed.

        Of an artifact whose signature was compared, one that has changed is an InarchError.
        """
        self.of = {library: _place(library, artifact) for library in artifact.manifest.libraries}
        self._builds = _compared(self.of, artifact)

    @property
    def paths(self) -> tuple[Path, ...]:
        """In the manifest's order."""
        return tuple(self.of.values())

    def opened(self) -> None:
        """They are in this process now, each as it was found."""
        _BUILDS.update({**self._builds, **_BUILDS})


def find_file(name: str, artifact: Artifact) -> Path | None:
    """The file of that name beside the artifact, or in the folders of INARCH_LIBRARY_PATH."""
    places = [folder / name for folder in (*artifact.folders, *_asked_folders())]
    return next((place.absolute() for place in places if is_file(place)), None)


def _place(library: External, artifact: Artifact) -> Path:
    if library.member:
        return EMBEDDED.path(library, artifact)
    found = find_file(library.name, artifact)
    if found is not None:
        return found
    if library.path and is_file(Path(library.path)):
        return Path(library.path).absolute()
    raise EnvironmentFault(
        f"{library.caller} '{library.path or library.name}', which does not exist, nor does '{library.name}' "
        f"beside the artifact or in {VARIABLE}; {library.remedy}, or recompile where it is",
        where=artifact.where,
    )


def _asked_folders() -> list[Path]:
    return [Path(folder) for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]


def _compared(found: dict[External, Path], artifact: Artifact) -> dict[str, str]:
    """The hashes of the libraries whose content is known, by path."""
    builds: dict[str, str] = {}
    for library, path in found.items():
        if library.member:
            continue
        if library.sha256 is None:
            if artifact.is_signed:
                raise artifact.error(
                    f"expected libraries that were signed, found '{path}', whose hash nobody wrote down; "
                    "compile with --embed"
                )
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        builds[str(path)] = digest
        first = _BUILDS.get(str(path), digest)
        if digest == first == library.sha256:
            continue
        if artifact.is_signed and digest != library.sha256:
            raise artifact.error(
                f"expected the library of SHA-256 {library.sha256[:16]}..., which was signed, found "
                f"{digest[:16]}... in '{path}'; restore it, or compile with --embed"
            )
        used = "its present build is used unchecked; compile again to have it checked"
        if first != digest:  # the dynamic loader opens a path once
            used = "this process uses the build that it opened first; start it again for the present one"
        was = "were" if len(library.kernels) > 1 else "was"
        warnings.warn(
            f"{artifact.where}: library '{path}' changed since {library.user} {was} compiled and checked "
            f"with it; {used}",
            stacklevel=_STACK,
        )
    return builds
